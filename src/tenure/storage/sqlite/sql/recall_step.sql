-- One step with its whole result, for the attempt that holds the job.
SELECT step.name, step.kind, step.status, step.fence, step.at, step.call, step.size, step.until_at, step.answered_by, step.body
  FROM tenure_step step
 CROSS JOIN tenure_job_state s ON s.id = step.job
 CROSS JOIN tenure_lease lease ON lease.id = s.lease
 WHERE step.job = :job AND step.name = :name
   AND s.lease = :fence AND lease.owner = :worker AND lease.expires_at > :now;
