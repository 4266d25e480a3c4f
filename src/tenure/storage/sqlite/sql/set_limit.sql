-- How many may run at once under each key of a limit.
INSERT INTO tenure_limit_size (name, size) VALUES (:name, :size)
ON CONFLICT DO UPDATE SET size = excluded.size;
