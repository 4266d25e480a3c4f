-- The repetition that has a task's id, in a namespace or in any.
SELECT * FROM tenure.schedule
 WHERE source = 'task' AND name = :name::text AND (:namespace::text IS NULL OR namespace = :namespace::text)
 LIMIT 1;
