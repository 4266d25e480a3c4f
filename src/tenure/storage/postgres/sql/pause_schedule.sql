-- Let a schedule rest. Pausing again replaces who paused it and why. A task that has ended its repetition stays as it is.
UPDATE tenure.schedule
   SET paused_at  = coalesce(paused_at, tenure.now()),
       paused_by  = :by::text,
       reason     = :reason::text,
       updated_at = tenure.now()
 WHERE namespace = :namespace::text AND name = :name::text AND (source <> 'task' OR next_at IS NOT NULL)
RETURNING *;
