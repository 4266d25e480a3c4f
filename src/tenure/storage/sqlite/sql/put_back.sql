-- Let a job that was put aside go on. The lease under which its attempt ran is lent once more for the length of this
-- transaction, so that the attempt can be settled, or taken from its owner, by the scripts that always do so.

-- part: kept
SELECT job, fence, owner, kind, ending, result, error, after, cpu_ms, peak_bytes, exit_code, signal
  FROM tenure_aside WHERE job = :job;

-- part: found
SELECT id AS job, state, lease FROM tenure_job_state WHERE id = :job;

-- part: stranded
-- The same of an attempt whose lease's row is gone, and whose worker died before it could put the job aside.
SELECT s.id AS job, s.lease AS fence, NULL AS owner, NULL AS ending
  FROM tenure_job_state s
 WHERE s.id = :job AND s.state IN ('running', 'cancelling')
   AND NOT EXISTS (SELECT 1 FROM tenure_lease lease WHERE lease.id = s.lease);

-- part: lease
SELECT expires_at AS expires, jobs FROM tenure_lease WHERE id = :fence;

-- part: lend
-- To this job alone; what the row said is put back before any other transaction can see it.
INSERT INTO tenure_lease (id, owner, expires_at, heartbeat_at, jobs)
VALUES (:fence, :owner, :now + :lease_for, :now, json_array(:job))
ON CONFLICT DO UPDATE SET expires_at = excluded.expires_at, jobs = excluded.jobs;

-- part: restore
UPDATE tenure_lease SET expires_at = :expires, jobs = :jobs WHERE id = :fence;

-- part: end
DELETE FROM tenure_lease WHERE id = :fence;

-- part: line_up
INSERT INTO tenure_ready (line, rank, seq, job)
SELECT line, rank, seq, id FROM tenure_job_state WHERE id = :job AND state = 'queued'
ON CONFLICT DO NOTHING;

-- part: time
INSERT INTO tenure_timer (due_at, job, kind)
SELECT due_at, id, :kind FROM tenure_job_state
 WHERE id = :job AND state IN ('scheduled', 'retrying', 'suspended') AND due_at IS NOT NULL
ON CONFLICT DO NOTHING;

-- part: forget
DELETE FROM tenure_aside WHERE job = :job;
