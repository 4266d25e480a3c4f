-- Note that a worker has a schedule in its code.
INSERT INTO tenure_announced (namespace, schedule, worker, at)
VALUES (:namespace, :name, :worker, :now)
ON CONFLICT DO UPDATE SET at = excluded.at;
