-- The ids that end in these characters, among the newest jobs: a look at so many entries of an index, and no more. Of a
-- namespace the newest are its own; the usual one has no index, and what is found of it is compared afterwards.
SELECT found.id
  FROM ((SELECT id FROM tenure.job
          WHERE :namespace::text <> 'default' AND namespace = :namespace::text AND namespace <> 'default'
          ORDER BY id DESC LIMIT :most::integer)
         UNION ALL
        (SELECT id FROM tenure.job
          WHERE coalesce(:namespace::text, 'default') = 'default'
          ORDER BY id DESC LIMIT :most::integer)) found
 WHERE right(found.id::text, length(:ending::text)) = :ending::text
   AND (:namespace::text IS NULL
        OR (SELECT namespace FROM tenure.job WHERE job.id = found.id LIMIT 1) = :namespace::text)
 ORDER BY found.id DESC
 LIMIT :limit::integer;
