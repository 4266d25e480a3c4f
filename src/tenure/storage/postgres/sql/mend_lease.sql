-- Take a job from an owner whose lease has no row, as `reap` takes it from one whose lease ran out. The lease is lent for
-- the length of this transaction, so that the statement of `reap` finds it. A job whose lease is there, or that is aside,
-- is left alone.

-- part: lock
-- First, as everywhere: nothing moves the job from here on.
SELECT id AS job, state FROM tenure.job_state WHERE id = :job::uuid FOR UPDATE;

-- part: gone
-- A statement of its own: it sees what the lock waited for. The history says which worker the owner was.
SELECT s.lease AS fence,
       coalesce((SELECT actor FROM tenure.event
                  WHERE event.job = s.id AND event.fence = s.lease AND event.type = 'started' LIMIT 1), 'unknown') AS owner
  FROM tenure.job_state s
 WHERE s.id = :job::uuid AND s.state IN ('running', 'cancelling')
   AND NOT EXISTS (SELECT FROM tenure.lease WHERE lease.id = s.lease)
   AND NOT EXISTS (SELECT FROM tenure.aside WHERE aside.job = s.id);

-- part: lend
INSERT INTO tenure.lease (id, owner, expires_at, heartbeat_at, jobs) OVERRIDING SYSTEM VALUE
VALUES (:fence::bigint, :owner::text, tenure.now(), tenure.now(), ARRAY[:job::uuid]);

-- part: end
DELETE FROM tenure.lease WHERE id = :fence::bigint;
