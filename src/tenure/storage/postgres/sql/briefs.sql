-- What lists tell of jobs besides their state: params unless they are long, who made them, the worker that owns them or had
-- their last attempt, and the kind and the message of its error.
SELECT job.id, CASE WHEN octet_length(job.params) <= :longest_params::integer THEN job.params END AS params, job.creator,
       coalesce(lease.owner, last.worker) AS worker,
       last.error::json ->> 'kind' AS kind,
       left(last.error::json ->> 'message', :longest_message::integer) AS message
  FROM unnest(:ids::uuid[]) AS chosen (id)
  JOIN tenure.job ON job.id = chosen.id
  JOIN tenure.job_state s ON s.id = chosen.id
  LEFT JOIN tenure.lease ON lease.id = s.lease
  LEFT JOIN LATERAL (SELECT worker, error FROM tenure.attempt
                      WHERE attempt.job = chosen.id ORDER BY fence DESC LIMIT 1) last ON true;
