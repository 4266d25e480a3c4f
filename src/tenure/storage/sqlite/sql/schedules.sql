-- Schedules by namespace and name, from behind a place on; of one namespace, or of all.
SELECT *
  FROM tenure_schedule
 WHERE (namespace, name) > (:after_namespace, :after_name)
   AND (:namespace IS NULL OR namespace = :namespace)
   AND (:definition IS NULL OR definition = :definition)
 ORDER BY namespace, name
 LIMIT :limit;
