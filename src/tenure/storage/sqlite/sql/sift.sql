-- Which jobs are to blame when the database refuses a batch, found by the verb's own script on some of the jobs it has found; and
-- putting them aside, one at a time, all in one transaction.

-- part: moving
SELECT id AS job, worker AS owner FROM temp.moving ORDER BY position;

-- part: picked
SELECT job, line, rank, seq FROM temp.picked ORDER BY position;

-- part: only_moving
DELETE FROM temp.moving WHERE id NOT IN (SELECT value FROM json_each(:named));

-- part: only_picked
DELETE FROM temp.picked WHERE job NOT IN (SELECT value FROM json_each(:named));

-- part: stranded
-- Attempts that their worker has lost although the job is still theirs, since the row of their lease is gone.
SELECT s.id AS job, s.fence
  FROM json_each(:given) given
 CROSS JOIN tenure_job_state s ON s.id = given.value ->> 0 AND s.lease = given.value ->> 1
 WHERE NOT EXISTS (SELECT 1 FROM tenure_lease WHERE id = given.value ->> 1)
 ORDER BY s.id;

-- part: known
SELECT job FROM tenure_aside WHERE job = :job;

-- part: put
-- Of a job that is aside already the first report counts that there is.
INSERT INTO tenure_aside (job, fence, verb, code, text, at, by, owner, kind, ending, result, error, after, cpu_ms,
                          peak_bytes, exit_code, signal)
SELECT s.id, coalesce(s.lease, 0), :verb, :code, :text, :now, :by, :owner,
       (SELECT kind FROM tenure_timer timer
         WHERE timer.due_at = s.due_at AND timer.job = s.id
           AND kind IN ('hold', 'scheduled', 'retry', 'resume', 'wait', 'give_up') LIMIT 1),
       :ending, :result, :error, :after, :cpu_ms, :peak_bytes, :exit_code, :signal
  FROM tenure_job_state s
 WHERE s.id = :job
ON CONFLICT DO UPDATE
   SET ending = excluded.ending, result = excluded.result, error = excluded.error, after = excluded.after,
       cpu_ms = excluded.cpu_ms, peak_bytes = excluded.peak_bytes, exit_code = excluded.exit_code,
       signal = excluded.signal
 WHERE ending IS NULL AND fence = excluded.fence;

-- part: freed
UPDATE tenure_limited SET held = max(0, held - 1)
 WHERE id IN (SELECT part.value
                FROM tenure_job_state s
               CROSS JOIN tenure_line line ON line.id = s.line
               CROSS JOIN json_each(line.limits) part
               WHERE s.id = :job AND s.lease IS NOT NULL);

-- part: parted
UPDATE tenure_lease
   SET jobs = (SELECT json_group_array(value) FROM json_each(tenure_lease.jobs) WHERE value <> :job)
 WHERE id = (SELECT lease FROM tenure_job_state WHERE id = :job);

-- part: out_of_line
DELETE FROM tenure_ready
 WHERE (line, rank, seq) IN (SELECT line, rank, seq FROM tenure_job_state WHERE id = :job) AND +job = :job;

-- part: out_of_place
-- Where it was met, should that be another place than its row says.
DELETE FROM tenure_ready WHERE line = :line AND rank = :rank AND seq = :seq AND +job = :job;

-- part: untimed
DELETE FROM tenure_timer WHERE kind IN ('hold', 'scheduled', 'retry', 'resume', 'wait', 'give_up') AND job = :job;
