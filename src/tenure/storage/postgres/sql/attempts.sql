-- The starts of one job, or part of them: those that have ended, and the one under way.
SELECT job, fence, number, worker, started_at, ended_at, ending, error, exit_code, signal, cpu_ms, peak_bytes
  FROM tenure.attempt
 WHERE attempt.job = :job::uuid AND fence > :after::bigint
 UNION ALL
SELECT s.id, s.fence, s.attempt, coalesce(lease.owner, ''), s.started_at, NULL, NULL, NULL, NULL, NULL, NULL, NULL
  FROM tenure.job_state s
  LEFT JOIN tenure.lease ON lease.id = s.lease
 WHERE s.id = :job::uuid AND s.lease IS NOT NULL AND s.fence > :after::bigint
 ORDER BY fence
 LIMIT :limit::integer;
