-- Let a file that was restored, or whose clock is ahead of the machine's, go on: one transaction, as nothing else writes
-- meanwhile. The parts about the clock are for the latter.

-- part: seen
SELECT id AS worker, host, seen_at FROM tenure_worker WHERE seen_at >= :now - :alive ORDER BY seen_at DESC, id;

-- part: cut
INSERT INTO tenure_restore (kept, resumed, at, store) SELECT :kept, :resumed, :now, id FROM tenure_store WHERE true
ON CONFLICT (kept) DO UPDATE SET resumed = excluded.resumed, at = excluded.at;

-- part: name
-- A program that remembers messages by the store and their number must not take what comes for what was lost.
UPDATE tenure_store SET id = :id;

-- part: lift
-- Above all that was given out after the copy was made.
UPDATE tenure_sequence SET n = CASE name WHEN 'mark' THEN :counted ELSE n + :lift END
 WHERE name IN ('mark', 'place', 'fence');

-- part: end
-- No worker may keep a lease: the reaper takes back what is under them, as from any worker that was lost.
UPDATE tenure_lease SET expires_at = min(expires_at, :now) RETURNING id AS fence;

-- part: clock_leases
-- They would hold for as long as the clock was ahead: the reaper takes back what is under them.
UPDATE tenure_lease SET expires_at = min(expires_at, :machine) RETURNING id AS fence;

-- part: clock_timers
-- What has begun to wait while the clock was ahead waits as long as it was to. Held jobs wait at the end of time.
UPDATE tenure_timer
   SET due_at = max(:machine, due_at - :by)
 WHERE due_at > :machine AND due_at < 9223372036854775807
   AND EXISTS (SELECT 1 FROM tenure_job_state s WHERE s.id = tenure_timer.job AND s.updated_at > :machine)
RETURNING job;

-- part: clock_waits
UPDATE tenure_job_state
   SET due_at = max(:machine, due_at - :by)
 WHERE due_at > :machine AND due_at < 9223372036854775807 AND updated_at > :machine
   AND state IN ('scheduled', 'retrying', 'suspended');

-- part: clock_steps
UPDATE tenure_step
   SET until_at = max(:machine, until_at - :by)
 WHERE status = 'waiting' AND until_at > :machine AND at > :machine;

-- part: clock_schedules
SELECT * FROM tenure_schedule WHERE next_at > :machine;

-- part: clock_schedule
UPDATE tenure_schedule SET next_at = :next_at WHERE namespace = :namespace AND name = :name;

-- part: clock_deliveries
UPDATE tenure_delivery SET next_at = max(:machine, next_at - :by) WHERE state = 'waiting' AND next_at > :machine;

-- part: clock_webhooks
UPDATE tenure_webhook
   SET open_at      = min(open_at, :machine),
       recovered_at = min(recovered_at, :machine),
       count_at     = min(count_at, :machine)
 WHERE max(coalesce(open_at, 0), coalesce(recovered_at, 0), count_at) > :machine;

-- part: clock_cursors
UPDATE tenure_cursor SET held_at = min(held_at, :machine), held_until = min(held_until, :machine);

-- part: clock_queues
UPDATE tenure_message_queue SET searched_at = min(searched_at, :machine);

-- part: clock_receivers
UPDATE tenure_receiver SET failing_at = min(failing_at, :machine), noted_at = min(noted_at, :machine);

-- part: clock_reminders
DELETE FROM tenure_reminder WHERE at > :machine;

-- part: clock_workers
DELETE FROM tenure_worker WHERE seen_at > :machine;

-- part: clock
UPDATE tenure_sequence SET n = :machine WHERE name = 'clock';
