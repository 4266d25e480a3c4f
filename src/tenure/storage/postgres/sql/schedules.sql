-- Schedules by namespace and name, from behind a place on; of one namespace, or of all.
SELECT *
  FROM tenure.schedule
 WHERE (namespace, name) > (:after_namespace::text, :after_name::text)
   AND (:namespace::text IS NULL OR namespace = :namespace::text)
   AND (:definition::text IS NULL OR definition = :definition::text)
 ORDER BY namespace, name
 LIMIT :limit::integer;
