-- Forget a worker that has stopped.
DELETE FROM tenure_worker WHERE id = :worker;
