-- One signal with its whole payload, for the attempt that holds the job.
SELECT signal.name, signal.by, signal.body
  FROM tenure.signal
  JOIN tenure.job_state s ON s.id = signal.job
  JOIN tenure.lease ON lease.id = s.lease
 WHERE signal.job = :job::uuid AND signal.name = :name::text
   AND s.lease = :fence::bigint AND lease.owner = :worker::text AND lease.expires_at > tenure.now();
