-- How many may run at once under each key of a limit.

-- part: size
-- Answers whether there is such a limit.
INSERT INTO tenure.limit_size (name, size)
SELECT :name::text, :size::integer
 WHERE :create::boolean OR EXISTS (SELECT FROM tenure.limit_size WHERE name = :name::text)
ON CONFLICT (name) DO UPDATE SET size = excluded.size
RETURNING name;

-- part: slots
-- A statement of its own, since it must see keys made meanwhile. Slots above the size stay: they are not taken. Those
-- that are there are left out by themselves: to find a conflict is to wait for the claim that holds the slot.
INSERT INTO tenure.slot (limited, n)
SELECT limited.id, n
  FROM tenure.limited JOIN tenure.limit_size USING (name) CROSS JOIN generate_series(1, size) AS n
 WHERE name = :name::text AND NOT EXISTS (SELECT FROM tenure.slot WHERE slot.limited = limited.id AND slot.n = n.n)
 ORDER BY limited.id, n
ON CONFLICT DO NOTHING;
