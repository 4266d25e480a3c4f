-- A job as last committed: what was asked, where it stands, which worker owns it, how it ended.
SELECT job.id, job.namespace, line.definition, line.version, line.queue, job.priority, job.params, job.scope, job.key,
       job.max_attempts, job.on_lost, job.timeout_ms, job.grace_ms, job.backoff_base_ms, job.backoff_cap_ms,
       job.retry_on, job.fatal_on, job.parent, job.replay_of, job.traceparent, job.creator, job.created_at, job.run_at,
       job.tags,
       s.state, s.fence, s.attempt, s.failures, s.hand_backs, s.suspensions, s.due_at, s.queued_at,
       s.started_at, s.finished_at, s.updated_at, s.cancel_requested_at, s.progress,
       lease.owner AS worker, lease.heartbeat_at, lease.expires_at AS lease_expires_at,
       (SELECT at FROM tenure_aside aside WHERE aside.job = s.id) AS aside_at,
       -- Notes may have been added behind the end, where they are not counted.
       coalesce((SELECT max(event.n) FROM tenure_event event
                  WHERE event.job = s.id AND event.n > s.n AND s.finished_at IS NOT NULL
                    AND event.source = s.state AND event.target = s.state), s.n) AS n,
       result.body AS result,
       (SELECT json_group_array(json_array(limited.name, limited.key, size))
          FROM json_each(line.limits) part
          JOIN tenure_limited limited ON limited.id = part.value
          JOIN tenure_limit_size USING (name)) AS limits,
       (SELECT error FROM tenure_attempt WHERE job = s.id ORDER BY fence DESC LIMIT 1) AS error
  FROM tenure_job job
  JOIN tenure_line line ON line.id = job.line
  JOIN tenure_job_state s ON s.id = job.id
  LEFT JOIN tenure_lease lease ON lease.id = s.lease
  LEFT JOIN tenure_result result ON result.job = job.id AND s.has_result
 WHERE job.id = :job;
