-- Let a schedule rest. Pausing again replaces who paused it and why. A task that has ended its repetition stays as it is.
UPDATE tenure_schedule
   SET paused_at  = coalesce(paused_at, :now),
       paused_by  = :by,
       reason     = :reason,
       updated_at = :now
 WHERE namespace = :namespace AND name = :name AND (source <> 'task' OR next_at IS NOT NULL)
RETURNING *;
