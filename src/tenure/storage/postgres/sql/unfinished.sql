-- How many jobs of a namespace have not ended, among its newest. The usual namespace has no index, and no bound.
SELECT count(*) AS n
  FROM (SELECT
          FROM (SELECT id FROM tenure.job
                 WHERE namespace = :namespace::text AND namespace <> 'default'
                 ORDER BY id DESC LIMIT :budget::integer) newest
         -- LIMIT keeps this a look-up.
         CROSS JOIN LATERAL (SELECT finished_at FROM tenure.job_state WHERE job_state.id = newest.id LIMIT 1) s
         WHERE s.finished_at IS NULL
         LIMIT :most::integer) unfinished;
