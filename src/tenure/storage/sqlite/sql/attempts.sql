-- The starts of one job, or part of them: those that have ended, and the one under way.
SELECT job, fence, number, worker, started_at, ended_at, ending, error, exit_code, signal, cpu_ms, peak_bytes
  FROM tenure_attempt
 WHERE job = :job AND fence > :after
 UNION ALL
SELECT s.id, s.fence, s.attempt, coalesce(lease.owner, ''), s.started_at, NULL, NULL, NULL, NULL, NULL, NULL, NULL
  FROM tenure_job_state s
  LEFT JOIN tenure_lease lease ON lease.id = s.lease
 WHERE s.id = :job AND s.lease IS NOT NULL AND s.fence > :after
 ORDER BY fence
 LIMIT :limit;
