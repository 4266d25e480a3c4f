-- Forget a worker that has stopped.
DELETE FROM tenure.worker WHERE id = :worker::text;
