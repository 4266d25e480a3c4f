-- Every limit and key that jobs have named, and how many run under it; a limit that none has named has an empty key.
-- Goes on behind a key, given by its number (0 where there is none), so far as wanted: slots are counted for those only.
WITH
begun AS MATERIALIZED (
    SELECT CASE WHEN :id::integer = 0 THEN ''
                ELSE (SELECT key FROM tenure.limited WHERE id = :id::integer AND name = :name::text)
           END AS key
),
listed AS MATERIALIZED (
    (SELECT limited.id AS number, name, key, CASE WHEN opens_at > tenure.now() THEN opens_at END AS opens_at
       FROM tenure.limited
      WHERE :name::text IS NULL OR (name, key) > (:name::text, (SELECT key FROM begun))
      ORDER BY name, key LIMIT :limit::integer)
     UNION ALL
    (SELECT 0, name, '', NULL
       FROM tenure.limit_size
      WHERE (:name::text IS NULL OR name > :name::text)
        AND NOT EXISTS (SELECT FROM tenure.limited WHERE limited.name = limit_size.name)
      ORDER BY name LIMIT :limit::integer)
     ORDER BY name, key LIMIT :limit::integer
)
SELECT number, name, key, size, opens_at,
       (SELECT count(*) FROM tenure.slot WHERE slot.limited = listed.number AND slot.is_held) AS held
  FROM listed JOIN tenure.limit_size USING (name)
 ORDER BY name, key;
