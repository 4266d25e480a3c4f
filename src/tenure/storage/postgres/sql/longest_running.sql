-- The jobs at work for longest, with their workers: among those of the oldest leases, so that what is read is bounded.
SELECT s.id AS job, line.definition, s.state::text AS state, s.started_at, lease.owner AS worker, s.progress
  FROM (SELECT id, owner, jobs FROM tenure.lease ORDER BY id LIMIT :most::integer) lease
 CROSS JOIN LATERAL unnest(lease.jobs) AS owned (job)
  -- LIMIT keeps these look-ups.
 CROSS JOIN LATERAL (SELECT * FROM tenure.job_state WHERE job_state.id = owned.job AND job_state.lease = lease.id LIMIT 1) s
 CROSS JOIN LATERAL (SELECT * FROM tenure.line WHERE line.id = s.line LIMIT 1) line
 WHERE s.state IN ('running', 'cancelling')
 ORDER BY s.started_at, s.id
 LIMIT :limit::integer;
