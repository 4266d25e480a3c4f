-- Whether a worker holds a job.
SELECT s.id
  FROM tenure_job_state s
 CROSS JOIN tenure_lease lease ON lease.id = s.lease AND lease.owner = :worker AND lease.expires_at > :now
 WHERE s.id = :job AND s.lease = :fence;
