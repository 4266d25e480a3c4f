-- Jobs that are suspended for a signal of this name, by id. Rows that nobody waits under any more are few: whatever resumes
-- or cancels a job takes its row along, but for the clock.
SELECT s.id AS job, wait.kind, wait.step, wait.signal, wait.at, s.due_at
  FROM tenure.wait
 CROSS JOIN LATERAL (SELECT * FROM tenure.job_state
                      WHERE job_state.id = wait.job AND job_state.fence = wait.fence
                        AND job_state.state = 'suspended' LIMIT 1) s
 CROSS JOIN LATERAL (SELECT FROM tenure.job
                      WHERE job.id = wait.job AND (:namespace::text IS NULL OR job.namespace = :namespace::text)
                      LIMIT 1) named
 WHERE wait.signal = :signal::text AND wait.job >= :first::uuid
 ORDER BY wait.signal, wait.job
 LIMIT :limit::integer;
