-- Put a queued job that stands in no line back into its line, at the place that its row names. A job that is anywhere else,
-- or aside, or that has its place again, is left alone. Answers with the place if it was missing.

-- part: lock
-- There is one writer at a time: nothing moves the job from here on.
SELECT id AS job, state FROM tenure_job_state WHERE id = :job;

-- part: dated
-- A job that was queued by hand does not know since when, and a claim tells that.
UPDATE tenure_job_state SET queued_at = :now WHERE id = :job AND state = 'queued' AND queued_at IS NULL;

-- part: mend
-- If the place is another job's, the database refuses it.
INSERT INTO tenure_ready (line, rank, seq, job)
SELECT s.line, s.rank, s.seq, s.id
  FROM tenure_job_state s
 WHERE s.id = :job AND s.state = 'queued'
   AND NOT EXISTS (SELECT 1 FROM tenure_ready ready
                    WHERE ready.line = s.line AND ready.rank = s.rank AND ready.seq = s.seq AND ready.job = s.id)
   AND NOT EXISTS (SELECT 1 FROM tenure_aside aside WHERE aside.job = s.id)
RETURNING job, line, rank;
