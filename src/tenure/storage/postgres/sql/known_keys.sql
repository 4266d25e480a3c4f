-- Which of these keys, each in its namespace and scope, stand for a job.
SELECT asked.*
  FROM unnest(:namespaces::text[], :scopes::text[], :keys::text[]) AS asked (namespace, scope, key)
 CROSS JOIN LATERAL (SELECT FROM tenure.job
                      WHERE job.namespace = asked.namespace AND job.scope = asked.scope AND job.key = asked.key
                      LIMIT 1) found;
