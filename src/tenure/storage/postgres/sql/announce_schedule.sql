-- Note that a worker has a schedule in its code.
INSERT INTO tenure.announced (namespace, schedule, worker, at)
VALUES (:namespace::text, :name::text, :worker::text, tenure.now())
ON CONFLICT (namespace, schedule, worker) DO UPDATE SET at = excluded.at;
