-- Append what attempts have said: log lines, and notes, which are events but no steps.
-- It counts only while the lease holds, and prolongs nothing. Answers with the jobs still owned. A line that is there
-- already was sent before, by a worker that did not hear the answer.

-- part: cleared
DELETE FROM temp.telling;

-- part: given
INSERT INTO temp.given (job, fence, lines, notes) VALUES (?, ?, ?, ?);

-- part: owned
INSERT INTO temp.telling (job, fence, state, attempt, n, lines, notes, asked, taken)
SELECT s.id, s.fence, s.state, s.attempt, s.n, given.lines, given.notes, coalesce(json_array_length(given.notes), 0),
       min(coalesce(json_array_length(given.notes), 0), :most - s.notes)
  FROM temp.given
 CROSS JOIN tenure_lease lease ON lease.id = given.fence AND lease.owner = :worker AND lease.expires_at > :now
 CROSS JOIN tenure_job_state s ON s.id = given.job AND s.lease = given.fence;

-- part: counted
UPDATE tenure_job_state AS s
   SET n          = s.n + telling.taken,
       notes      = s.notes + telling.taken,
       updated_at = :now
  FROM temp.telling
 WHERE s.id = telling.job AND telling.taken > 0;

-- part: announced
INSERT INTO tenure_event (job, n, type, source, target, attempt, fence, at, actor, payload, mark)
SELECT telling.job, telling.n + note.key + 1, note.value ->> 0, state, state, attempt, fence, :now, :worker,
       note.value ->> 1, :mark
  FROM temp.telling CROSS JOIN json_each(telling.notes) note
 WHERE note.key < telling.taken;

-- part: written
INSERT INTO tenure_log (job, fence, n, at, level, text, fields)
SELECT telling.job, telling.fence, line.value ->> 0, line.value ->> 1, line.value ->> 2, line.value ->> 3,
       line.value ->> 4
  FROM temp.telling CROSS JOIN json_each(telling.lines) line
 WHERE NOT EXISTS (SELECT 1 FROM tenure_log log
                    WHERE log.job = telling.job AND log.fence = telling.fence AND log.n = line.value ->> 0);

-- part: answer
SELECT job, fence, taken < asked AS is_full, false AS is_locked FROM temp.telling;
