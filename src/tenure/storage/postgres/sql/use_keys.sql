-- A key that was used within the last minute, by whatever process, stays as it is. In order, so that two calls do not wait for
-- each other in a circle.
WITH idle AS MATERIALIZED (
    SELECT id FROM tenure.access_key
     WHERE id = ANY (:ids::text[]) AND (last_used_at > tenure.now() - :idle::interval) IS NOT TRUE
     ORDER BY id
       FOR UPDATE SKIP LOCKED
)
UPDATE tenure.access_key SET last_used_at = tenure.now() FROM idle WHERE access_key.id = idle.id;
