-- Add a note to a job whose last claim was this lease, whatever has become of the job; or that ended without one.
-- The row of a finished job stays as it is: its notes are counted by the last of them.

-- part: cleared
DELETE FROM temp.telling;

-- part: found
INSERT INTO temp.telling (job, fence, state, attempt, actor, n)
SELECT s.id, s.fence, s.state, coalesce(ended.number, s.attempt), coalesce(ended.worker, lease.owner, ''), s.last
  FROM (SELECT *, coalesce((SELECT max(event.n) FROM tenure_event event
                             WHERE event.job = id AND event.n > state.n AND finished_at IS NOT NULL), n) AS last
          FROM tenure_job_state state
         WHERE id = :job AND fence = :fence AND (fence > 0 OR finished_at IS NOT NULL)) s
  LEFT JOIN tenure_attempt ended ON ended.job = s.id AND ended.fence = s.fence
  LEFT JOIN tenure_lease lease ON lease.id = s.lease
 WHERE s.notes + s.last - s.n < :most;

-- part: counted
UPDATE tenure_job_state AS s
   SET n = s.n + 1, notes = s.notes + 1, updated_at = :now
  FROM temp.telling
 WHERE s.id = telling.job AND s.finished_at IS NULL;

-- part: announced
INSERT INTO tenure_event (job, n, type, source, target, attempt, fence, at, actor, payload, mark)
SELECT job, n + 1, :type, state, state, attempt, fence, :now, actor, :payload, :mark FROM temp.telling;

-- part: answer
SELECT job FROM temp.telling;

-- part: lines
-- Behind those that were written under that lease; it need not be the last one, since each has numbers of its own.
INSERT INTO tenure_log (job, fence, n, at, level, text, fields)
SELECT s.id, :fence, last.n + line.key + 1, line.value ->> 1, line.value ->> 2, line.value ->> 3, line.value ->> 4
  FROM tenure_job_state s
 CROSS JOIN (SELECT coalesce(max(n), 0) AS n FROM tenure_log WHERE job = :job AND fence = :fence) last
 CROSS JOIN json_each(:lines) line
 WHERE s.id = :job AND s.fence >= :fence AND (:fence > 0 OR s.finished_at IS NOT NULL)
RETURNING job;
