-- Put a queued job that stands in no line back into its line, at the place that its row names. A job that is anywhere else,
-- or aside, or that has its place again, is left alone. Answers with the place if it was missing.

-- part: lock
-- First, as everywhere: nothing moves the job from here on.
SELECT id AS job, state FROM tenure.job_state WHERE id = :job::uuid FOR UPDATE;

-- part: mend
-- A statement of its own: it sees what the lock waited for. If the place is another job's, the database refuses it.
-- A job that was queued by hand does not know since when, and a claim tells that.
WITH dated AS (
    UPDATE tenure.job_state SET queued_at = tenure.now() WHERE id = :job::uuid AND state = 'queued' AND queued_at IS NULL
)
INSERT INTO tenure.ready (line, rank, seq, job)
SELECT s.line, s.rank, s.seq, s.id
  FROM tenure.job_state s
 WHERE s.id = :job::uuid AND s.state = 'queued'
   AND NOT EXISTS (SELECT FROM tenure.ready
                    WHERE ready.line = s.line AND ready.rank = s.rank AND ready.seq = s.seq AND ready.job = s.id)
   AND NOT EXISTS (SELECT FROM tenure.aside WHERE aside.job = s.id)
RETURNING job, line, rank;
