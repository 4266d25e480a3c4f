-- A job as last committed: what was asked, where it stands, which worker owns it, how it ended.
SELECT job.id, job.namespace, line.definition, line.version, line.queue, job.priority, job.params, job.scope, job.key,
       job.max_attempts, job.on_lost, job.timeout_ms, job.grace_ms, job.backoff_base_ms, job.backoff_cap_ms,
       job.retry_on, job.fatal_on, job.parent, job.replay_of, job.traceparent, job.creator, job.tags, job.created_at,
       job.run_at,
       s.state, s.fence, s.attempt, s.failures, s.hand_backs, s.suspensions, s.due_at, s.queued_at,
       s.started_at, s.finished_at, s.updated_at, s.cancel_requested_at, s.progress,
       lease.owner AS worker, lease.heartbeat_at, lease.expires_at AS lease_expires_at,
       (SELECT at FROM tenure.aside WHERE aside.job = s.id) AS aside_at,
       -- Notes may have been added behind the end, where they are not counted.
       coalesce((SELECT max(event.n) FROM tenure.event
                  WHERE event.job = s.id AND event.n > s.n AND s.finished_at IS NOT NULL
                    AND event.source = s.state AND event.target = s.state), s.n) AS n,
       (SELECT json_agg(json_build_array(name, key, size))::text
          FROM tenure.limited JOIN tenure.limit_size USING (name)
         WHERE limited.id = ANY (line.limits)) AS limits,
       result.body AS result, last.error
  FROM tenure.job
  JOIN tenure.line ON line.id = job.line
  JOIN tenure.job_state s ON s.id = job.id
  LEFT JOIN tenure.lease ON lease.id = s.lease
  LEFT JOIN tenure.result ON result.job = job.id AND s.has_result
  LEFT JOIN LATERAL (SELECT error FROM tenure.attempt
                      WHERE attempt.job = job.id ORDER BY fence DESC LIMIT 1) last ON true
 WHERE job.id = :job::uuid;
