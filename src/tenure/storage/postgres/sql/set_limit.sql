-- How many may run at once under each key of a limit.

-- part: size
INSERT INTO tenure.limit_size (name, size) VALUES (:name::text, :size::integer)
ON CONFLICT (name) DO UPDATE SET size = excluded.size;

-- part: slots
-- A statement of its own, since it must see keys made meanwhile. Slots above the size stay: they are not taken.
INSERT INTO tenure.slot (limited, n)
SELECT limited.id, n
  FROM tenure.limited JOIN tenure.limit_size USING (name) CROSS JOIN generate_series(1, size) AS n
 WHERE name = :name::text
 ORDER BY limited.id, n
ON CONFLICT DO NOTHING;
