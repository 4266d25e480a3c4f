-- One step with its whole result, for the attempt that holds the job.
SELECT step.name, step.kind, step.status, step.fence, step.at, step.call, step.size, step.until_at, step.answered_by, step.body
  FROM tenure.step
  JOIN tenure.job_state s ON s.id = step.job
  JOIN tenure.lease ON lease.id = s.lease
 WHERE step.job = :job::uuid AND step.name = :name::text
   AND s.lease = :fence::bigint AND lease.owner = :worker::text AND lease.expires_at > tenure.now();
