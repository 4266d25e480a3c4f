-- Record a schedule. One of that name that is there already stays as it is, and nothing is answered. While limits of
-- schedules that are gone are removed it waits: one of them may be this one's.
WITH turn AS MATERIALIZED (
    SELECT pg_advisory_xact_lock_shared(7308325449218352744)
)
INSERT INTO tenure.schedule (namespace, name, definition, spec, source, creator, remaining, next_at, paused_at, paused_by,
                             revision, created_at, updated_at)
SELECT :namespace::text, :name::text, :definition::text, :spec::text, :source::text, :creator::text, :remaining::bigint,
       :next_at::timestamptz, CASE WHEN :is_paused::boolean THEN tenure.now() END,
       CASE WHEN :is_paused::boolean THEN :by::text END, 1, tenure.now(), tenure.now()
  FROM turn
ON CONFLICT DO NOTHING
RETURNING *;
