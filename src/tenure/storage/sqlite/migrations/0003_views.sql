-- reads-from: 3
-- For reading with a database shell: jobs, their events and their definitions under plain names, times as text.
-- Nothing in Tenure reads them.

CREATE VIEW tenure_jobs AS
SELECT job.id,
       line.definition AS definition_key,
       line.version AS definition_version,
       job.params,
       s.state AS status,
       job.priority,
       s.attempt AS attempts,
       job.max_attempts,
       strftime('%Y-%m-%dT%H:%M:%fZ', coalesce(s.due_at, job.run_at) / 1e6, 'unixepoch') AS scheduled_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', s.queued_at / 1e6, 'unixepoch') AS queued_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', s.started_at / 1e6, 'unixepoch') AS started_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', s.finished_at / 1e6, 'unixepoch') AS finished_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', lease.heartbeat_at / 1e6, 'unixepoch') AS heartbeat_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', lease.expires_at / 1e6, 'unixepoch') AS lease_expires_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', s.cancel_requested_at / 1e6, 'unixepoch') AS cancel_requested_at,
       lease.owner AS worker_id,
       job.key AS idempotency_key,
       (SELECT json_extract(error, '$.message') FROM tenure_attempt
         WHERE job = s.id ORDER BY fence DESC LIMIT 1) AS error_summary
  FROM tenure_job job
  JOIN tenure_job_state s ON s.id = job.id
  JOIN tenure_line line ON line.id = job.line
  LEFT JOIN tenure_lease lease ON lease.id = s.lease;

CREATE VIEW tenure_job_events AS
SELECT job.id || ':1' AS id,
       job.id AS job_id,
       coalesce(second.source, s.state) AS event_type,
       strftime('%Y-%m-%dT%H:%M:%fZ', job.created_at / 1e6, 'unixepoch') AS at,
       json_object('source', NULL, 'target', coalesce(second.source, s.state), 'attempt', 0, 'fence', 0,
                   'actor', 'api', 'reason', NULL) AS payload
  FROM tenure_job job
  JOIN tenure_job_state s ON s.id = job.id
  LEFT JOIN tenure_event second ON second.job = job.id AND second.n = 2
 UNION ALL
SELECT event.job || ':' || event.n,
       event.job,
       event.type,
       strftime('%Y-%m-%dT%H:%M:%fZ', event.at / 1e6, 'unixepoch'),
       coalesce(event.payload,
                json_object('source', event.source, 'target', event.target, 'attempt', event.attempt, 'fence', event.fence,
                            'actor', event.actor, 'reason', event.reason))
  FROM tenure_event event
  JOIN tenure_job_state s ON s.id = event.job
       AND (event.n <= s.n OR s.finished_at IS NOT NULL AND event.source = s.state AND event.target = s.state);

CREATE VIEW tenure_job_definitions AS
SELECT key,
       version,
       coalesce(json_extract(spec, '$.max_attempts'), 3) AS default_max_attempts,
       coalesce(json_extract(spec, '$.timeout_seconds'), 3600) AS timeout_seconds,
       coalesce(json_extract(spec, '$.concurrency'), 0) AS concurrency_limit
  FROM tenure_definition;
