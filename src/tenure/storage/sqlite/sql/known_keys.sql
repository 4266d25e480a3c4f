-- Which of these keys, each as [namespace, scope, key], stand for a job.
SELECT asked.value ->> 0 AS namespace, asked.value ->> 1 AS scope, asked.value ->> 2 AS key
  FROM json_each(:keys) asked
 WHERE EXISTS (SELECT 1 FROM tenure_job
                WHERE namespace = asked.value ->> 0 AND scope = asked.value ->> 1 AND key = asked.value ->> 2);
