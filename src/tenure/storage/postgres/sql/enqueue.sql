-- Record jobs, all or none. A key or an id that is already taken leaves its first job untouched and is
-- missing from the answer; `find` then says who took it.

-- part: lines
-- Lines are never deleted, so one that was seen once is there for good.
WITH patience AS MATERIALIZED (
    SELECT set_config('lock_timeout', '200ms', true)
)
INSERT INTO tenure.line (queue, definition, version)
SELECT queue, definition, version
  FROM patience
 CROSS JOIN unnest(:queues::text[], :definitions::text[], :versions::integer[])
            AS wanted (queue, definition, version)
 ORDER BY queue, definition, version
ON CONFLICT DO NOTHING;

-- part: record
WITH
-- A key may be held by a transaction that somebody left open: wait for it briefly, not for ever.
patience AS MATERIALIZED (
    SELECT set_config('lock_timeout', '200ms', true)
),
given AS MATERIALIZED (
    SELECT asked.*, line.id AS line, tenure.now() AS at, coalesce(asked.run_at, tenure.now() + asked.delay) AS due_at,
           row_number() OVER (PARTITION BY asked.id ORDER BY position) AS copy
      FROM patience
     CROSS JOIN unnest(
               :ids::uuid[], :queues::text[], :definitions::text[], :versions::integer[], :priorities::smallint[],
               :namespaces::text[], :scopes::text[], :keys::text[], :params::text[], :hashes::bytea[],
               :run_ats::timestamptz[], :delays::interval[], :holds::boolean[],
               :max_attempts::smallint[], :on_lost::text[], :timeouts::integer[], :graces::integer[],
               :bases::integer[], :caps::integer[], :retry_on::text[], :fatal_on::text[],
               :parents::uuid[], :replays_of::uuid[], :traceparents::text[]
           ) WITH ORDINALITY AS asked (
               id, queue, definition, version, priority, namespace, scope, key, params, params_hash,
               run_at, delay, hold, max_attempts, on_lost, timeout_ms, grace_ms, backoff_base_ms, backoff_cap_ms,
               retry_on, fatal_on, parent, replay_of, traceparent, position
           )
      LEFT JOIN tenure.line USING (queue, definition, version)
),
-- Sorted by key and id, so that two calls with the same keys never wait for each other in a circle. An unknown line
-- is NULL here and fails the whole statement.
recorded AS (
    INSERT INTO tenure.job (
        id, line, priority, max_attempts, created_at, run_at, timeout_ms, grace_ms, backoff_base_ms, backoff_cap_ms,
        on_lost, namespace, scope, params, params_hash, key, retry_on, fatal_on, parent, replay_of, traceparent)
    SELECT id, line, priority, max_attempts, at, due_at, timeout_ms, grace_ms, backoff_base_ms, backoff_cap_ms,
           on_lost, namespace, scope, params, params_hash, key, retry_on, fatal_on, parent,
           replay_of, traceparent
      FROM given
     WHERE copy = 1
     ORDER BY namespace, scope, key, id
    ON CONFLICT DO NOTHING
    RETURNING id
),
fresh AS MATERIALIZED (
    SELECT given.*, nextval('tenure.place') AS seq,
           CASE WHEN hold THEN 'created' WHEN due_at > at THEN 'scheduled' ELSE 'queued' END::tenure.state AS state
      FROM given
     WHERE copy = 1 AND (id IN (SELECT id FROM recorded)) IS TRUE   -- IS TRUE keeps this a look-up in a hash
     ORDER BY position
),
placed AS (
    INSERT INTO tenure.job_state (id, line, rank, max_attempts, state, n, seq, updated_at, due_at, queued_at)
    SELECT id, line, -priority, max_attempts, state, 1, seq, at,
           CASE WHEN state <> 'queued' THEN due_at END,
           CASE WHEN state = 'queued' THEN at END
      FROM fresh
),
lined_up AS (
    INSERT INTO tenure.ready (line, rank, seq, job)
    SELECT line, -priority, seq, id FROM fresh WHERE state = 'queued'
),
timed AS (
    INSERT INTO tenure.timer (due_at, job, kind)
    SELECT CASE WHEN state = 'created' THEN 'infinity' ELSE due_at END, id,
           CASE WHEN state = 'created' THEN 'hold' ELSE 'scheduled' END
      FROM fresh WHERE state <> 'queued'
)
SELECT position, state, line FROM fresh;

-- part: find
-- Who took the keys and ids first. A statement of its own, since it must see what `record` could not.
SELECT asked.position, job.id, job_state.state,
       line.definition = asked.definition AND line.version = asked.version
       AND job.params_hash IS NOT DISTINCT FROM asked.params_hash AND job.namespace = asked.namespace
       AND job.scope = asked.scope AND job.key IS NOT DISTINCT FROM asked.key AS matches
  FROM unnest(
           :ids::uuid[], :definitions::text[], :versions::integer[], :namespaces::text[], :scopes::text[],
           :keys::text[], :hashes::bytea[]
       ) WITH ORDINALITY AS asked (id, definition, version, namespace, scope, key, params_hash, position)
  JOIN LATERAL (
           SELECT 1 AS choice, * FROM tenure.job
            WHERE job.namespace = asked.namespace AND job.scope = asked.scope AND job.key = asked.key
            UNION ALL
           SELECT 2 AS choice, * FROM tenure.job WHERE job.id = asked.id
            ORDER BY choice
            LIMIT 1
       ) job ON true
  JOIN tenure.job_state ON job_state.id = job.id
  JOIN tenure.line ON line.id = job.line;
