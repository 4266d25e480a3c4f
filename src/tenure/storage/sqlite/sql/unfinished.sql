-- How many jobs of a namespace have not ended, among its newest. The usual namespace has no index, and no bound.
SELECT count(*) AS n
  FROM (SELECT 1
          FROM (SELECT id FROM tenure_job
                 WHERE namespace = :namespace AND namespace <> 'default'
                 ORDER BY id DESC LIMIT :budget) newest
         CROSS JOIN tenure_job_state s ON s.id = newest.id
         WHERE s.finished_at IS NULL
         LIMIT :most);
