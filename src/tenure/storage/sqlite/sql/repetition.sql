-- The repetition that has a task's id, in a namespace or in any.
SELECT * FROM tenure_schedule
 WHERE source = 'task' AND name = :name AND (:namespace IS NULL OR namespace = :namespace)
 LIMIT 1;
