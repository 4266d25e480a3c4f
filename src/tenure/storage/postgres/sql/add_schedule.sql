-- Record a schedule. One of that name that is there already stays as it is, and nothing is answered.
INSERT INTO tenure.schedule (namespace, name, definition, spec, source, creator, remaining, next_at, paused_at, paused_by,
                             revision, created_at, updated_at)
SELECT :namespace::text, :name::text, :definition::text, :spec::text, :source::text, :creator::text, :remaining::bigint,
       :next_at::timestamptz, CASE WHEN :is_paused::boolean THEN tenure.now() END,
       CASE WHEN :is_paused::boolean THEN :by::text END, 1, tenure.now(), tenure.now()
ON CONFLICT DO NOTHING
RETURNING *;
