-- Record jobs, all or none. A key or an id that is already taken leaves its first job untouched and is
-- missing from the answer; `find` then says which job took it. Jobs with neither key nor id of the caller's have nothing that
-- could be taken: the shorter forms are theirs, which spare the server a third of the work.

-- part: limits
-- Limits and their keys, as far as they are new; a size that is set already stays.
WITH
patience AS MATERIALIZED (
    SELECT set_config('lock_timeout', '200ms', true)
),
wanted AS MATERIALIZED (
    SELECT wanted.* FROM patience
     CROSS JOIN unnest(:names::text[], :keys::text[], :sizes::integer[]) AS wanted (name, key, size)
),
sized AS (
    INSERT INTO tenure.limit_size (name, size)
    SELECT name, min(size) FROM wanted GROUP BY name ORDER BY name
    ON CONFLICT DO NOTHING
)
INSERT INTO tenure.limited (name, key) SELECT name, key FROM wanted ORDER BY name, key
ON CONFLICT DO NOTHING;

-- part: slots
-- As many slots as the limits' sizes say; a statement of its own, since it must see what others have made.
-- Here and below LIMIT keeps what is found by a name and a key a look-up: a planner that knows nothing yet of the keys,
-- or knows them from when they were few, would go through all of them for each that is wanted. Of the limits of one job
-- it would expect a hundred, and for so much work compile the statement first, where it may (through a pooler), which
-- takes seconds: each LIMIT that it cannot know means a tenth to it, so two of them mean one.
INSERT INTO tenure.slot (limited, n)
SELECT sized.id, n
  FROM (SELECT limited.id, limit_size.size
          FROM unnest(:names::text[], :keys::text[]) AS wanted (name, key)
         CROSS JOIN LATERAL (SELECT id FROM tenure.limited
                              WHERE limited.name = wanted.name AND limited.key = wanted.key LIMIT 1) limited
         CROSS JOIN LATERAL (SELECT size FROM tenure.limit_size WHERE limit_size.name = wanted.name LIMIT 1) limit_size
         ORDER BY limited.id) sized   -- so that calls do not wait in a circle
 CROSS JOIN generate_series(1, sized.size) AS n
ON CONFLICT DO NOTHING;

-- part: lines
-- Only lines of schedules that are gone are deleted; one that is gone is noticed and made anew. Limits are given as JSON, [name, key] each.
WITH patience AS MATERIALIZED (
    SELECT set_config('lock_timeout', '200ms', true)
)
INSERT INTO tenure.line (queue, definition, version, limits)
SELECT queue, definition, version,
       ARRAY(SELECT limited.id
               FROM (SELECT * FROM (SELECT * FROM json_array_elements(wanted.limits::json)
                                     LIMIT json_array_length(wanted.limits::json)) few
                      LIMIT json_array_length(wanted.limits::json)) AS given (named)
              CROSS JOIN LATERAL (SELECT id FROM tenure.limited
                                   WHERE name = named ->> 0 AND key = named ->> 1 LIMIT 1) limited
              ORDER BY limited.id) AS limits
  FROM patience
 CROSS JOIN unnest(:queues::text[], :definitions::text[], :versions::integer[], :limits::text[])
            AS wanted (queue, definition, version, limits)
 ORDER BY queue, definition, version, limits
ON CONFLICT DO NOTHING;

-- part: line_ids
SELECT wanted.position, line.id AS line
  FROM unnest(:queues::text[], :definitions::text[], :versions::integer[], :limits::text[])
       WITH ORDINALITY AS wanted (queue, definition, version, limits, position)
 CROSS JOIN LATERAL (
           SELECT ARRAY(SELECT limited.id
                          FROM (SELECT * FROM (SELECT * FROM json_array_elements(wanted.limits::json)
                                                LIMIT json_array_length(wanted.limits::json)) few
                                 LIMIT json_array_length(wanted.limits::json)) AS given (named)
                         CROSS JOIN LATERAL (SELECT id FROM tenure.limited
                                              WHERE name = named ->> 0 AND key = named ->> 1 LIMIT 1) limited
                         ORDER BY limited.id) AS limits
           OFFSET 0   -- once for each
       ) under
 CROSS JOIN LATERAL (SELECT id FROM tenure.line
                      WHERE line.queue = wanted.queue AND line.definition = wanted.definition
                        AND line.version = wanted.version AND line.limits = under.limits AND line.share = '' LIMIT 1) line;

-- part: record
WITH
-- A key may be held by a transaction that was left open: wait for it briefly, not for ever. In a transaction that
-- is not ours the patience is its owner's.
patience AS MATERIALIZED (
    SELECT set_config('lock_timeout', coalesce(:patience::text, current_setting('lock_timeout')), true)
),
given AS MATERIALIZED (
    SELECT asked.*, line.id AS line, tenure.now() AS at, coalesce(asked.run_at, tenure.now() + asked.delay) AS due_at
-- only: keys
           , row_number() OVER (PARTITION BY asked.id ORDER BY position) AS copy
-- only: end
      FROM patience
     CROSS JOIN unnest(
               :ids::uuid[], :lines::integer[], :queues::text[], :definitions::text[], :versions::integer[],
               :priorities::smallint[],
               :namespaces::text[], :scopes::text[], :keys::text[], :params::text[], :hashes::bytea[],
               :run_ats::timestamptz[], :delays::interval[], :holds::boolean[],
               :max_attempts::smallint[], :on_lost::text[], :timeouts::integer[], :graces::integer[],
               :bases::integer[], :caps::integer[], :retry_on::text[], :fatal_on::text[],
               :parents::uuid[], :replays_of::uuid[], :traceparents::text[], :tags::text[],
               :limits::text[], :creators::text[]
           ) WITH ORDINALITY AS asked (
               id, known_line, queue, definition, version, priority, namespace, scope, key, params, params_hash,
               run_at, delay, hold, max_attempts, on_lost, timeout_ms, grace_ms, backoff_base_ms, backoff_cap_ms,
               retry_on, fatal_on, parent, replay_of, traceparent, tags, limits, creator,
               position
           )
      LEFT JOIN LATERAL (
               SELECT id FROM tenure.line
                WHERE line.id = asked.known_line AND line.queue = asked.queue AND line.definition = asked.definition
                  AND line.version = asked.version AND line.share = ''
                  AND line.limits = CASE WHEN asked.limits IS NULL THEN '{}'
                                         ELSE ARRAY(SELECT limited.id
                                                      FROM (SELECT *
                                                              FROM (SELECT * FROM json_array_elements(asked.limits::json)
                                                                     LIMIT json_array_length(asked.limits::json)) few
                                                             LIMIT json_array_length(asked.limits::json)) AS given (named)
                                                     CROSS JOIN LATERAL (SELECT id FROM tenure.limited
                                                                          WHERE name = named ->> 0 AND key = named ->> 1
                                                                          LIMIT 1) limited
                                                     ORDER BY limited.id)
                                    END
                LIMIT 1
           ) line ON true
),
-- Sorted by key and id, so that two calls with the same keys never wait for each other in a circle. A line that is not
-- what the caller remembers is NULL here and fails the whole statement.
recorded AS (
    INSERT INTO tenure.job (
        id, line, priority, max_attempts, created_at, run_at, timeout_ms, grace_ms, backoff_base_ms, backoff_cap_ms,
        on_lost, namespace, scope, params, params_hash, key, retry_on, fatal_on, parent, replay_of, traceparent,
        tags, creator)
    SELECT id, line, priority, max_attempts, at, due_at, timeout_ms, grace_ms, backoff_base_ms, backoff_cap_ms,
           on_lost, namespace, scope, params, params_hash, key, retry_on, fatal_on, parent,
           replay_of, traceparent, tags, creator
      FROM given
-- only: keys
     WHERE copy = 1
     ORDER BY namespace, scope, key, id
    ON CONFLICT DO NOTHING
-- only: end
    RETURNING id
),
fresh AS MATERIALIZED (
    SELECT given.*, nextval('tenure.place') AS seq,
           CASE WHEN hold THEN 'created' WHEN due_at > at THEN 'scheduled' ELSE 'queued' END::tenure.state AS state
      FROM given
-- only: keys
     WHERE copy = 1 AND (id IN (SELECT id FROM recorded)) IS TRUE   -- IS TRUE keeps this a look-up in a hash
-- only: end
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
),
tagged AS (
    INSERT INTO tenure.tag (name, job)
    SELECT name, id FROM fresh CROSS JOIN json_array_elements_text(tags::json) AS name WHERE tags IS NOT NULL
),
tallied AS (
    INSERT INTO tenure.tally (line, state, n) SELECT line, state, count(*) FROM fresh GROUP BY line, state
)
SELECT position, state::text, line, -priority AS rank FROM fresh;   -- as text: a driver would first ask what the type is

-- part: one
-- The same for one job that is queued at once and has no tags; to begin with `record` costs more than to do this.
WITH
recorded AS (
    INSERT INTO tenure.job (
        id, line, priority, max_attempts, created_at, timeout_ms, grace_ms, backoff_base_ms, backoff_cap_ms,
        on_lost, namespace, scope, params, params_hash, key, retry_on, fatal_on, parent, replay_of, traceparent,
        creator)
    SELECT :id::uuid,
           (SELECT line.id FROM tenure.line
             WHERE line.id = :line::integer AND line.queue = :queue::text AND line.definition = :definition::text
               AND line.version = :version::integer AND cardinality(line.limits) = 0
               AND line.share = ''),
           :priority::smallint, :max_attempts::smallint, tenure.now(), :timeout::integer, :grace::integer, :base::integer,
           :cap::integer, :on_lost::text, :namespace::text, :scope::text, :params::text, :hash::bytea, :key::text,
           :retry_on::text, :fatal_on::text, :parent::uuid, :replay_of::uuid, :traceparent::text,
           :creator::text
-- only: keys
     WHERE set_config('lock_timeout', :patience::text, true) IS NOT NULL
    ON CONFLICT DO NOTHING
-- only: end
    RETURNING id, line, -priority AS rank, max_attempts, created_at AS at
),
placed AS (
    INSERT INTO tenure.job_state (id, line, rank, max_attempts, state, n, seq, updated_at, queued_at)
    SELECT id, line, rank, max_attempts, 'queued', 1, nextval('tenure.place'), at, at FROM recorded
    RETURNING id, line, rank, seq
),
lined_up AS (
    INSERT INTO tenure.ready (line, rank, seq, job) SELECT line, rank, seq, id FROM placed
),
tallied AS (
    INSERT INTO tenure.tally (line, state, n) SELECT line, 'queued', 1 FROM placed
)
-- A hint that goes with the commit comes a round trip sooner. But commits that notify go one after the other, each with
-- its sync to disk: so one at a time may, and a call that meets another one there sends its hint afterwards. So does one that
-- finds the server's queue of notifications long, since one that is full would take the job with it. Commits of others that
-- notify, in whatever database of the server, may hold this one up: but for no longer than its patience.
SELECT line, rank,
       CASE WHEN :hint::text IS NOT NULL AND pg_notification_queue_usage() < 0.5
             AND pg_try_advisory_xact_lock(7308325449218352743)
             AND set_config('lock_timeout', :patience::text, true) IS NOT NULL
            THEN pg_notify('tenure', :hint::text || line || '/' || rank) IS NOT NULL
       END AS is_told
  FROM placed;

-- part: alike
-- The same for many jobs that differ in nothing but their params, have neither key nor id of the caller's, no tags and
-- no time to wait for. Their ids ascend: they stand in line in that order. Answers with one row for all.
WITH
recorded AS (
    INSERT INTO tenure.job (
        id, line, priority, max_attempts, created_at, timeout_ms, grace_ms, backoff_base_ms, backoff_cap_ms,
        on_lost, namespace, scope, params, retry_on, fatal_on, parent, replay_of, traceparent, creator)
    SELECT asked.id,
           (SELECT line.id FROM tenure.line
             WHERE line.id = :line::integer AND line.queue = :queue::text AND line.definition = :definition::text
               AND line.version = :version::integer AND cardinality(line.limits) = 0
               AND line.share = ''),
           :priority::smallint, :max_attempts::smallint, tenure.now(), :timeout::integer, :grace::integer, :base::integer,
           :cap::integer, :on_lost::text, :namespace::text, :scope::text, asked.params,
           :retry_on::text, :fatal_on::text, :parent::uuid, :replay_of::uuid, :traceparent::text,
           :creator::text
      FROM unnest(:ids::uuid[], string_to_array(:params::text, chr(30))) AS asked (id, params)
    RETURNING id, line, -priority AS rank, max_attempts, created_at AS at
),
placed AS (
    INSERT INTO tenure.job_state (id, line, rank, max_attempts, state, n, seq, updated_at, queued_at)
    SELECT id, line, rank, max_attempts, 'queued', 1, nextval('tenure.place'), at, at
      FROM (SELECT * FROM recorded ORDER BY id) AS in_order
    RETURNING id, line, rank, seq
),
lined_up AS (
    INSERT INTO tenure.ready (line, rank, seq, job) SELECT line, rank, seq, id FROM placed
),
summed AS (
    SELECT line, rank, count(*) AS n FROM placed GROUP BY line, rank
),
tallied AS (
    INSERT INTO tenure.tally (line, state, n) SELECT line, 'queued', n FROM summed
)
SELECT line, rank FROM summed;

-- part: find
-- Which jobs took the keys and ids first. A statement of its own, since it must see what `record` could not. A key that was
-- free and that a later job of the same call took is no answer for an earlier one. Jobs recorded with neither key nor
-- id have no hash; their params are compared as they stand.
SELECT asked.position, job.id, job_state.state,
       line.definition = asked.definition AND line.version = asked.version AND job.namespace = asked.namespace
       AND job.scope = asked.scope AND job.key IS NOT DISTINCT FROM asked.key
       AND coalesce(job.params_hash = asked.params_hash, job.params = asked.params) AS matches
  FROM unnest(
           :ids::uuid[], :definitions::text[], :versions::integer[], :namespaces::text[], :scopes::text[],
           :keys::text[], :hashes::bytea[], :params::text[]
       ) WITH ORDINALITY AS asked (id, definition, version, namespace, scope, key, params_hash, params, position)
  JOIN LATERAL (
           SELECT 1 AS choice, * FROM tenure.job
            WHERE job.namespace = asked.namespace AND job.scope = asked.scope AND job.key = asked.key
              AND NOT EXISTS (SELECT FROM unnest(:fresh_ids::uuid[], :fresh_positions::bigint[]) AS later (id, position)
                               WHERE later.id = job.id AND later.position > asked.position)
            UNION ALL
           SELECT 2 AS choice, * FROM tenure.job WHERE job.id = asked.id
            ORDER BY choice
            LIMIT 1
       ) job ON true
  -- LIMIT keeps this a look-up: PostgreSQL 13 would merge a few jobs with all that there are.
  JOIN LATERAL (SELECT state FROM tenure.job_state WHERE job_state.id = job.id LIMIT 1) job_state ON true
 CROSS JOIN LATERAL (SELECT definition, version FROM tenure.line WHERE line.id = job.line LIMIT 1) line;
