-- What lists tell of jobs besides their state: params unless they are long, who made them, the worker that owns them or had
-- their last attempt, and the kind and the message of its error.
SELECT job.id, CASE WHEN length(job.params) <= :longest_params THEN job.params END AS params, job.creator,
       coalesce((SELECT owner FROM tenure_lease lease WHERE lease.id = s.lease), last.worker) AS worker,
       last.error ->> '$.kind' AS kind, substr(last.error ->> '$.message', 1, :longest_message) AS message
  FROM json_each(:jobs) chosen
 CROSS JOIN tenure_job job ON job.id = chosen.value
 CROSS JOIN tenure_job_state s ON s.id = job.id
  LEFT JOIN tenure_attempt last
    ON last.job = s.id AND last.fence = (SELECT max(fence) FROM tenure_attempt WHERE job = s.id);
