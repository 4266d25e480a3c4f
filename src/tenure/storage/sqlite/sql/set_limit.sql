-- How many may run at once under each key of a limit; answers whether there is such a limit.
INSERT INTO tenure_limit_size (name, size)
SELECT :name, :size WHERE :create OR EXISTS (SELECT 1 FROM tenure_limit_size WHERE name = :name)
ON CONFLICT DO UPDATE SET size = excluded.size
RETURNING name;
