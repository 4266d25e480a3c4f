-- Whether a worker holds a job. Until what it asks for is recorded, nothing takes the job away.
SELECT s.id
  FROM tenure.job_state s
  JOIN tenure.lease ON lease.id = s.lease
 WHERE s.id = :job::uuid AND s.lease = :fence::bigint
   AND lease.owner = :worker::text AND lease.expires_at > tenure.now()
   FOR UPDATE OF s;
