-- Take a job from an owner whose lease has no row, as `reap` takes it from one whose lease ran out. The lease is lent for
-- the length of this transaction, so that the script of `reap` finds it. A job whose lease is there, or that is aside,
-- is left alone.

-- part: lock
-- There is one writer at a time: nothing moves the job from here on.
SELECT id AS job, state FROM tenure_job_state WHERE id = :job;

-- part: gone
-- The history says which worker the owner was.
SELECT s.lease AS fence,
       coalesce((SELECT actor FROM tenure_event event
                  WHERE event.job = s.id AND event.fence = s.lease AND event.type = 'started' LIMIT 1), 'unknown') AS owner
  FROM tenure_job_state s
 WHERE s.id = :job AND s.state IN ('running', 'cancelling')
   AND NOT EXISTS (SELECT 1 FROM tenure_lease lease WHERE lease.id = s.lease)
   AND NOT EXISTS (SELECT 1 FROM tenure_aside aside WHERE aside.job = s.id);

-- part: lend
INSERT INTO tenure_lease (id, owner, expires_at, heartbeat_at, jobs)
VALUES (:fence, :owner, :now, :now, json_array(:job));

-- part: end
DELETE FROM tenure_lease WHERE id = :fence;
