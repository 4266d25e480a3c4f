-- Jobs that are suspended for a signal of this name, by id. Rows that nobody waits under any more are few: whatever resumes
-- or cancels a job takes its row along, but for the clock.
SELECT s.id AS job, wait.kind, wait.step, wait.signal, wait.at, s.due_at
  FROM tenure_wait wait
 CROSS JOIN tenure_job_state s ON s.id = wait.job AND s.fence = wait.fence AND s.state = 'suspended'
 CROSS JOIN tenure_job job ON job.id = wait.job AND (:namespace IS NULL OR job.namespace = :namespace)
 WHERE wait.signal = :signal AND wait.job >= :first
 ORDER BY wait.job
 LIMIT :limit;
