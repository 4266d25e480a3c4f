-- Let schedules fire: each moves on to its next tick, and its ticks and jobs are recorded in the same transaction.

-- part: move
-- Only a schedule that is as it was read moves; another process may have been quicker.
UPDATE tenure_schedule
   SET next_at   = :next_at,
       last_at   = coalesce(:last_at, last_at),
       last_outcome = coalesce(:last_outcome, last_outcome)
 WHERE namespace = :namespace AND name = :schedule AND revision = :revision AND next_at = :expected
   AND paused_at IS NULL
RETURNING name;

-- part: close
-- Ticks whose jobs have ended, or are gone, are no longer open.
UPDATE tenure_tick
   SET is_open = 0
 WHERE is_open = 1 AND namespace = :namespace AND schedule = :schedule
   AND NOT EXISTS (SELECT 1 FROM tenure_job_state s WHERE s.id = tenure_tick.job AND s.finished_at IS NULL);

-- part: tick
-- A tick that is on record already, from before an edit or a clock that stepped, stays as it is and makes no job.
INSERT INTO tenure_tick (namespace, schedule, at, outcome, job, n, until_at, problem, is_open, noted_at)
VALUES (:namespace, :schedule, :at, :outcome, :job, :n, :until, :problem, :is_open, :now)
ON CONFLICT DO NOTHING
RETURNING at;

-- part: count
-- Where runs are counted, each job that was made is one less to come. With the last one the schedule ends.
UPDATE tenure_schedule
   SET remaining = max(remaining - :made, 0),
       next_at   = iif(remaining > :made, next_at, NULL)
 WHERE namespace = :namespace AND name = :schedule AND remaining IS NOT NULL;
