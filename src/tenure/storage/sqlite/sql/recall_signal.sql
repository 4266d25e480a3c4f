-- One signal with its whole payload, for the attempt that holds the job.
SELECT signal.name, signal.by, signal.body
  FROM tenure_signal signal
 CROSS JOIN tenure_job_state s ON s.id = signal.job
 CROSS JOIN tenure_lease lease ON lease.id = s.lease
 WHERE signal.job = :job AND signal.name = :name
   AND s.lease = :fence AND lease.owner = :worker AND lease.expires_at > :now;
