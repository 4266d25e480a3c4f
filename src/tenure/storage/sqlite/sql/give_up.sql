-- Mark backing-off jobs as given up: their timer is due at once and leads to `failed`.
-- Answers for every job found; `moved` says whether this call set the mark.

-- part: given
INSERT INTO temp.given (job, fence) VALUES (?, 0);

-- part: found
INSERT INTO temp.moving (id, source, target, due_at)
SELECT s.id, s.state, CASE WHEN s.state = 'retrying' AND timer.kind IS NOT NULL THEN 'failed' END, s.due_at
  FROM temp.given
 CROSS JOIN tenure_job_state s ON s.id = given.job
  LEFT JOIN tenure_timer timer ON timer.due_at = s.due_at AND timer.job = s.id AND timer.kind = 'retry';

-- part: marked
UPDATE tenure_timer SET kind = 'give_up', due_at = :now
 WHERE (due_at, job, kind) IN (SELECT due_at, id, 'retry' FROM temp.moving WHERE target IS NOT NULL);

-- part: noted
-- A timer counts only while the job says the same time.
UPDATE tenure_job_state AS s
   SET due_at = :now, updated_at = :now
  FROM temp.moving m
 WHERE s.id = m.id AND m.target IS NOT NULL;

-- part: answer
SELECT id AS job, source AS state, target IS NOT NULL AS moved FROM temp.moving;
