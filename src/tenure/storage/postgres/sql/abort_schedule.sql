-- End the repetition of a task for good, if it has not ended. That it is paused and waits for no tick says that it was
-- aborted: neither firing nor pausing leaves it so.
UPDATE tenure.schedule
   SET next_at    = NULL,
       paused_at  = tenure.now(),
       paused_by  = :by::text,
       reason     = NULL,
       revision   = revision + 1,
       updated_at = tenure.now()
 WHERE namespace = :namespace::text AND name = :name::text AND source = 'task' AND next_at IS NOT NULL
RETURNING *;
