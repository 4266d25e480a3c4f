-- Let a job that was put aside go on. The first call that puts it back has it: the row is gone for every other. The lease under
-- which its attempt ran is lent once more for the length of this transaction, so that the attempt can be settled, or
-- taken from its owner, by the statements that always do so.

-- part: take
DELETE FROM tenure.aside WHERE job = :job::uuid
RETURNING job, fence, owner, kind, ending, result, error, after, cpu_ms, peak_bytes, exit_code, signal;

-- part: found
SELECT s.id AS job, s.state, s.lease, false AS moved FROM tenure.job_state s WHERE s.id = :job::uuid FOR UPDATE;

-- part: stranded
-- The same of an attempt whose lease's row is gone, and whose worker died before it could put the job aside.
SELECT s.id AS job, s.lease AS fence, NULL AS owner, NULL AS ending
  FROM tenure.job_state s
 WHERE s.id = :job::uuid AND s.state IN ('running', 'cancelling')
   AND NOT EXISTS (SELECT FROM tenure.lease WHERE lease.id = s.lease);

-- part: lease
SELECT expires_at, jobs FROM tenure.lease WHERE id = :fence::bigint FOR UPDATE;

-- part: lend
-- To this job alone; what the row said is put back before any other transaction can see it.
INSERT INTO tenure.lease (id, owner, expires_at, heartbeat_at, jobs) OVERRIDING SYSTEM VALUE
VALUES (:fence::bigint, :owner::text, tenure.now() + :lease_for::interval, tenure.now(), ARRAY[:job::uuid])
ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at, jobs = excluded.jobs;

-- part: restore
UPDATE tenure.lease SET expires_at = :expires_at::timestamptz, jobs = :jobs::uuid[] WHERE id = :fence::bigint;

-- part: end
DELETE FROM tenure.lease WHERE id = :fence::bigint;

-- part: line_up
INSERT INTO tenure.ready (line, rank, seq, job)
SELECT line, rank, seq, id FROM tenure.job_state WHERE id = :job::uuid AND state = 'queued'
ON CONFLICT DO NOTHING;

-- part: time
INSERT INTO tenure.timer (due_at, job, kind)
SELECT due_at, id, :kind::text FROM tenure.job_state
 WHERE id = :job::uuid AND state IN ('scheduled', 'retrying', 'suspended') AND due_at IS NOT NULL
ON CONFLICT DO NOTHING;
