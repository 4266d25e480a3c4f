-- Give a job that waits for a time, and has no timer, a timer at that time. A job that does not wait, or is aside, or
-- has a timer again, is left alone. One that waits for something else than a time waits without end, as long as what it
-- waits for is known. Answers with the job if its timer was missing.

-- part: lock
-- There is one writer at a time: nothing moves the job from here on.
SELECT id AS job, state FROM tenure_job_state WHERE id = :job;

-- part: dated
-- A job whose row has lost the time as well is due at once, though not before the time that was asked for.
UPDATE tenure_job_state AS s
   SET due_at = (SELECT max(:now, coalesce(job.run_at, :now)) FROM tenure_job job WHERE job.id = s.id)
 WHERE s.id = :job AND s.state IN ('scheduled', 'retrying', 'suspended') AND s.due_at IS NULL
   AND NOT EXISTS (SELECT 1 FROM tenure_wait wait
                    WHERE wait.job = s.id AND wait.fence = s.fence AND wait.kind <> 'time' AND s.state = 'suspended')
   AND NOT EXISTS (SELECT 1 FROM tenure_aside aside WHERE aside.job = s.id);

-- part: mend
-- That a job was given up stood in its timer alone: it is tried again.
INSERT INTO tenure_timer (due_at, job, kind)
SELECT coalesce(s.due_at, 9223372036854775807), s.id,
       CASE WHEN s.state = 'scheduled' THEN 'scheduled'
            WHEN s.state = 'retrying'  THEN 'retry'
            WHEN s.due_at IS NULL      THEN 'wait'
            ELSE 'resume'
       END
  FROM tenure_job_state s
 WHERE s.id = :job AND s.state IN ('scheduled', 'retrying', 'suspended')
   AND NOT EXISTS (SELECT 1 FROM tenure_timer timer
                     WHERE timer.due_at = coalesce(s.due_at, 9223372036854775807) AND timer.job = s.id
                        AND (s.due_at IS NOT NULL OR timer.kind = 'wait'
                             AND EXISTS (SELECT 1 FROM tenure_wait wait WHERE wait.job = s.id AND wait.fence = s.fence)))
   AND NOT EXISTS (SELECT 1 FROM tenure_aside aside WHERE aside.job = s.id)
RETURNING job;
