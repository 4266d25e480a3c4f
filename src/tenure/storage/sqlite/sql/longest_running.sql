-- The jobs at work for longest, with their workers: among those of the oldest leases, so that what is read is bounded.
SELECT s.id AS job, line.definition, s.state, s.started_at, lease.owner AS worker, s.progress
  FROM (SELECT id, owner, jobs FROM tenure_lease ORDER BY id LIMIT :most) lease
 CROSS JOIN json_each(lease.jobs) member
 CROSS JOIN tenure_job_state s ON s.id = member.value AND s.lease = lease.id
 CROSS JOIN tenure_line line ON line.id = s.line
 WHERE s.state IN ('running', 'cancelling')
 ORDER BY s.started_at, s.id
 LIMIT :limit;
