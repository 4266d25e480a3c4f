-- Ask a worker to claim no more; its next heartbeat tells it.
UPDATE tenure.worker SET drain_requested_at = coalesce(drain_requested_at, tenure.now())
 WHERE id = :worker::text
RETURNING id;
