-- Mark backing-off jobs as given up: their timer is due at once and leads to `failed`.
-- Answers for every job found; `moved` says whether this call set the mark.

-- part: given
INSERT INTO temp.given (job, fence) VALUES (?, 0);

-- part: found
INSERT INTO temp.moving (id, due_at)
SELECT s.id, s.due_at
  FROM temp.given
  JOIN tenure_job_state s ON s.id = given.job
  JOIN tenure_timer timer ON timer.due_at = s.due_at AND timer.job = s.id
 WHERE s.state = 'retrying' AND timer.kind = 'retry';

-- part: marked
UPDATE tenure_timer SET kind = 'give_up', due_at = :now
 WHERE (due_at, job) IN (SELECT due_at, id FROM temp.moving);

-- part: noted
-- A timer counts only while the job says the same time.
UPDATE tenure_job_state AS s
   SET due_at = :now, updated_at = :now
  FROM temp.moving m
 WHERE s.id = m.id;

-- part: answer
SELECT s.id AS job, s.state, m.id IS NOT NULL AS moved
  FROM temp.given
  JOIN tenure_job_state s ON s.id = given.job
  LEFT JOIN temp.moving m ON m.id = s.id;
