-- reads-from: 3
-- For people with a shell: jobs, their history and their definitions under plain names, to read only.

CREATE VIEW tenure.jobs AS
SELECT job.id, line.definition AS definition_key, line.version AS definition_version, job.params,
       s.state::text AS status, job.priority, s.attempt AS attempts, job.max_attempts,
       coalesce(s.due_at, job.run_at) AS scheduled_at, s.queued_at, s.started_at, s.finished_at,
       lease.heartbeat_at, lease.expires_at AS lease_expires_at, s.cancel_requested_at, lease.owner AS worker_id,
       job.key AS idempotency_key,
       (SELECT error::json ->> 'message' FROM tenure.attempt
         WHERE attempt.job = job.id ORDER BY fence DESC LIMIT 1) AS error_summary
  FROM tenure.job
  JOIN tenure.line ON line.id = job.line
  JOIN tenure.job_state s ON s.id = job.id
  LEFT JOIN tenure.lease ON lease.id = s.lease;

CREATE VIEW tenure.job_events AS
SELECT job.id || ':1' AS id, job.id AS job_id, born.state::text AS event_type, job.created_at AS at,
       json_build_object('source', NULL, 'target', born.state, 'attempt', 0, 'fence', 0, 'actor', 'api',
                         'reason', NULL) AS payload
  FROM tenure.job
  JOIN tenure.job_state s ON s.id = job.id
 CROSS JOIN LATERAL (SELECT coalesce((SELECT source FROM tenure.event WHERE event.job = job.id AND event.n = 2),
                                     s.state) AS state) born
 UNION ALL
SELECT event.job || ':' || event.n, event.job, type, at,
       coalesce(event.payload::json,
                json_build_object('source', source, 'target', target, 'attempt', event.attempt, 'fence', event.fence,
                                  'actor', actor, 'reason', reason))
  FROM tenure.event
  JOIN tenure.job_state s ON s.id = event.job
       AND (event.n <= s.n OR s.finished_at IS NOT NULL AND event.source = s.state AND event.target = s.state);

-- DISTINCT keeps PostgreSQL from letting a user write through the view.
CREATE VIEW tenure.job_definitions AS
SELECT DISTINCT key, version,
       CASE WHEN json_typeof(spec::json -> 'max_attempts') = 'number'
            THEN (spec::json ->> 'max_attempts')::numeric ELSE 3 END AS default_max_attempts,
       CASE WHEN json_typeof(spec::json -> 'timeout_seconds') = 'number'
            THEN (spec::json ->> 'timeout_seconds')::numeric ELSE 3600 END AS timeout_seconds,
       CASE WHEN json_typeof(spec::json -> 'concurrency') = 'number'
            THEN (spec::json ->> 'concurrency')::numeric ELSE 0 END AS concurrency_limit
  FROM tenure.definition;
