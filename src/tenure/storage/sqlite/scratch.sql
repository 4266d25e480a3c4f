-- What a verb works with while it runs: temporary tables of the writing connection, in memory, never on disk.
-- `given` is what the caller brought, `moving` the jobs that the verb found and where it has decided to move them.
-- They are always the outer side of a join (CROSS JOIN keeps SQLite from turning it round): they are as small
-- as the call, the tables behind them as large as history.
CREATE TEMP TABLE given_job (
    position INTEGER PRIMARY KEY, id, queue, definition, version, priority, namespace, scope, key, params, params_hash,
    run_at, delay, hold, max_attempts, on_lost, timeout_ms, grace_ms, backoff_base_ms, backoff_cap_ms, retry_on,
    fatal_on, parent, replay_of, traceparent
);
CREATE INDEX temp.given_job_id ON given_job (id);
CREATE INDEX temp.given_job_key ON given_job (key) WHERE key IS NOT NULL;
CREATE TEMP TABLE given (
    job, fence, ending, result, error, after, killed, progress, PRIMARY KEY (job, fence)
) WITHOUT ROWID;
CREATE TEMP TABLE moving (
    position INTEGER PRIMARY KEY, id, source, target, attempt, fence, seq, due_at, worker, ending, result, error, reason
);
CREATE TEMP TABLE place (position INTEGER PRIMARY KEY, line, rank);
CREATE TEMP TABLE picked (position INTEGER PRIMARY KEY, line, rank, seq, job);
