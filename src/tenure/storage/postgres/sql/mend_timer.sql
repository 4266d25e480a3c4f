-- Give a job that waits for a time, and has no timer, a timer at that time. A job that does not wait, or is aside, or
-- has a timer again, is left alone. One that waits for something else than a time waits without end, as long as what it
-- waits for is known. Answers with the job if its timer was missing.

-- part: lock
-- First, as everywhere: nothing moves the job from here on.
SELECT id AS job, state FROM tenure.job_state WHERE id = :job::uuid FOR UPDATE;

-- part: mend
-- A statement of its own: it sees what the lock waited for. A job whose row has lost the time as well is due at once,
-- though not before the time that was asked for. That a job was given up stood in its timer alone: it is tried again.
WITH
waiting AS MATERIALIZED (
    SELECT s.id, CASE WHEN wait.job IS NOT NULL THEN 'infinity'
                      ELSE coalesce(s.due_at, greatest(tenure.now(), job.run_at)) END AS due_at,
           CASE WHEN s.state = 'scheduled'    THEN 'scheduled'
                WHEN s.state = 'retrying'     THEN 'retry'
                WHEN wait.job IS NOT NULL     THEN 'wait'
                ELSE 'resume'
           END AS kind
      FROM tenure.job_state s
      JOIN tenure.job ON job.id = s.id
      LEFT JOIN tenure.wait ON wait.job = s.id AND wait.fence = s.fence AND wait.kind <> 'time'
                           AND s.state = 'suspended' AND s.due_at IS NULL
     WHERE s.id = :job::uuid AND s.state IN ('scheduled', 'retrying', 'suspended')
       AND NOT EXISTS (SELECT FROM tenure.timer
                     WHERE timer.due_at = coalesce(s.due_at, 'infinity') AND timer.job = s.id
                        AND (s.due_at IS NOT NULL OR timer.kind = 'wait'
                             AND EXISTS (SELECT FROM tenure.wait WHERE wait.job = s.id AND wait.fence = s.fence)))
       AND NOT EXISTS (SELECT FROM tenure.aside WHERE aside.job = s.id)
),
dated AS (
    UPDATE tenure.job_state s SET due_at = waiting.due_at FROM waiting 
     WHERE s.id = waiting.id AND s.due_at IS NULL AND waiting.kind <> 'wait'
)
INSERT INTO tenure.timer (due_at, job, kind) SELECT due_at, id, kind FROM waiting
RETURNING job;
