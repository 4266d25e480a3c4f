-- The oldest first, which have the lowest numbers. The guard lets it through while the setting stands, which ends with
-- this statement's transaction.
WITH
permitted AS MATERIALIZED (
    SELECT set_config('tenure.pruning', 'on', true)
),
oldest AS MATERIALIZED (
    SELECT audit.id, audit.at
      FROM permitted
     CROSS JOIN LATERAL (SELECT id, at FROM tenure.audit ORDER BY id LIMIT :limit::integer) audit
)
DELETE FROM tenure.audit
 WHERE id = ANY (ARRAY(SELECT id FROM oldest WHERE at < tenure.now() - :older_than::interval))
RETURNING id;
