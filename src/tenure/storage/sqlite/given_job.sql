-- The new jobs that an `enqueue` brings. Alone in its file: a connection that is not ours has no other scratch table, and
-- has this one only while it records jobs.
CREATE TEMP TABLE given_job (
    position INTEGER PRIMARY KEY, id, queue, definition, version, priority, namespace, scope, key, params, params_hash,
    run_at, delay, hold, max_attempts, on_lost, timeout_ms, grace_ms, backoff_base_ms, backoff_cap_ms, retry_on,
    fatal_on, parent, replay_of, traceparent, tags, limits, creator
);
CREATE INDEX temp.given_job_id ON given_job (id);
CREATE INDEX temp.given_job_key ON given_job (key) WHERE key IS NOT NULL;
