-- End the repetition of a task for good, if it has not ended. That it is paused and waits for no tick says that it was
-- aborted: neither firing nor pausing leaves it so.
UPDATE tenure_schedule
   SET next_at    = NULL,
       paused_at  = :now,
       paused_by  = :by,
       reason     = NULL,
       revision   = revision + 1,
       updated_at = :now
 WHERE namespace = :namespace AND name = :name AND source = 'task' AND next_at IS NOT NULL
RETURNING *;
