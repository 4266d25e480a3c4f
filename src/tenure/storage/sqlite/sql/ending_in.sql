-- The ids that end in these characters, among the newest jobs: a look at so many entries of an index, and no more. Of a
-- namespace the newest are its own; the usual one has no index, and what is found of it is compared afterwards.
SELECT found.id
  FROM (SELECT * FROM (SELECT id FROM tenure_job
                        WHERE :namespace <> 'default' AND namespace = :namespace AND namespace <> 'default'
                        ORDER BY id DESC LIMIT :most)
         UNION ALL
        SELECT * FROM (SELECT id FROM tenure_job
                        WHERE coalesce(:namespace, 'default') = 'default' AND id < '~'
                        ORDER BY id DESC LIMIT :most)) found
 WHERE substr(found.id, -length(:ending)) = :ending
   AND (:namespace IS NULL OR (SELECT namespace FROM tenure_job job WHERE job.id = found.id) = :namespace)
 ORDER BY found.id DESC
 LIMIT :limit;
