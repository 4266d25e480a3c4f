-- Let a schedule rest. Pausing again replaces who paused it and why.
UPDATE tenure.schedule
   SET paused_at  = coalesce(paused_at, tenure.now()),
       paused_by  = :by::text,
       reason     = :reason::text,
       updated_at = tenure.now()
 WHERE namespace = :namespace::text AND name = :name::text
RETURNING *;
