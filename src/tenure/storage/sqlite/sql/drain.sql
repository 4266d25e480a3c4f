-- Ask a worker to claim no more; its next heartbeat tells it.
UPDATE tenure_worker SET drain_requested_at = coalesce(drain_requested_at, :now)
 WHERE id = :worker
RETURNING true AS is_known;
