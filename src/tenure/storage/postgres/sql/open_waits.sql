-- What jobs are suspended for.
SELECT s.id AS job, wait.kind, wait.step, wait.signal, wait.at, s.due_at
  FROM unnest(:jobs::uuid[]) AS asked (id)
 CROSS JOIN LATERAL (SELECT * FROM tenure.job_state
                      WHERE job_state.id = asked.id AND job_state.state = 'suspended' LIMIT 1) s
 CROSS JOIN LATERAL (SELECT * FROM tenure.wait WHERE wait.job = s.id AND wait.fence = s.fence LIMIT 1) wait;
