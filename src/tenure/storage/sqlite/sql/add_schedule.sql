-- Record a schedule. One of that name that is there already stays as it is, and nothing is answered.
INSERT INTO tenure_schedule (namespace, name, definition, spec, source, creator, remaining, next_at, paused_at, paused_by,
                             revision, created_at, updated_at)
VALUES (:namespace, :name, :definition, :spec, :source, :creator, :remaining, :next_at, iif(:is_paused, :now, NULL),
        iif(:is_paused, :by, NULL), 1, :now, :now)
ON CONFLICT DO NOTHING
RETURNING *;
