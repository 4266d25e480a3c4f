-- Set the store's clock back to the machine's: one transaction, as nothing else writes meanwhile.

-- part: leases
-- They would hold for as long as the clock was ahead: the reaper takes back what is under them.
UPDATE tenure_lease SET expires_at = min(expires_at, :machine) RETURNING id AS fence;

-- part: timers
-- What has begun to wait while the clock was ahead waits as long as it was to. Held jobs wait at the end of time.
UPDATE tenure_timer
   SET due_at = max(:machine, due_at - :by)
 WHERE due_at > :machine AND due_at < 9223372036854775807
   AND EXISTS (SELECT 1 FROM tenure_job_state s WHERE s.id = tenure_timer.job AND s.updated_at > :machine)
RETURNING job;

-- part: waits
UPDATE tenure_job_state
   SET due_at = max(:machine, due_at - :by)
 WHERE due_at > :machine AND due_at < 9223372036854775807 AND updated_at > :machine
   AND state IN ('scheduled', 'retrying', 'suspended');

-- part: schedules
SELECT * FROM tenure_schedule WHERE next_at > :machine;

-- part: schedule
UPDATE tenure_schedule SET next_at = :next_at WHERE namespace = :namespace AND name = :name;

-- part: workers
DELETE FROM tenure_worker WHERE seen_at > :machine;

-- part: clock
UPDATE tenure_sequence SET n = :machine WHERE name = 'clock';
