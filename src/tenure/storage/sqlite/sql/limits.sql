-- Every limit and key that jobs have named, and how many run under it; a limit that none has named has an empty key.
-- Goes on behind a key, given by its number (0 where there is none), so far as wanted (-1: to the end).
WITH
begun (key) AS (
    SELECT CASE WHEN :id = 0 THEN '' ELSE (SELECT key FROM tenure_limited WHERE id = :id AND name = :name) END
),
listed (number, name, key, held, opens_at) AS (
    SELECT * FROM (SELECT id, name, key, held, CASE WHEN opens_at > :now THEN opens_at END
                     FROM tenure_limited
                    WHERE (name, key) > (coalesce(:name, ''), (SELECT key FROM begun))
                    ORDER BY name, key LIMIT :limit)
     UNION ALL
    SELECT * FROM (SELECT 0, name, '', 0, NULL
                     FROM tenure_limit_size
                    WHERE name > coalesce(:name, '')
                      AND NOT EXISTS (SELECT 1 FROM tenure_limited WHERE tenure_limited.name = tenure_limit_size.name)
                    ORDER BY name LIMIT :limit)
)
SELECT number, name, key, size, held, opens_at
  FROM listed JOIN tenure_limit_size USING (name)
 ORDER BY name, key LIMIT :limit;
