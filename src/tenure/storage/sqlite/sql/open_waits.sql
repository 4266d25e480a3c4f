-- What jobs are suspended for.
SELECT s.id AS job, wait.kind, wait.step, wait.signal, wait.at, s.due_at
  FROM json_each(:jobs) asked
 CROSS JOIN tenure_job_state s ON s.id = asked.value AND s.state = 'suspended'
 CROSS JOIN tenure_wait wait ON wait.job = s.id AND wait.fence = s.fence;
