-- How many tasks of a namespace go on repeating, counted to a bound.
SELECT count(*) AS n
  FROM (SELECT 1 FROM tenure_schedule
         WHERE source = 'task' AND next_at IS NOT NULL AND namespace = :namespace
         LIMIT :most);
