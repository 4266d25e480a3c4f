-- One turn of a worker, in one round trip: record how attempts ended, then claim the next jobs.

-- part: turn
WITH
given AS MATERIALIZED (
    SELECT *
      FROM unnest(:jobs::uuid[], :fences::bigint[], :endings::text[], :results::text[], :errors::text[],
                  :afters::interval[]) AS given (job, fence, ending, result, error, after)
),
-- Late is late: a lease that has run out settles nothing, even before the reaper comes. Read, not locked.
held AS MATERIALIZED (
    SELECT id FROM tenure.lease
     WHERE id = ANY (:held::bigint[]) AND owner = :worker::text AND expires_at > tenure.now()
),
-- Rows are locked in the order of ids, here and in every other verb, so that nobody waits in a circle. A step
-- that had to wait began before the one it waited for: `at` keeps a job's history from running backwards.
decided AS MATERIALIZED (
    SELECT s.id, s.state AS source, s.attempt, given.*, greatest(tenure.now(), s.updated_at) AS at,
           CASE WHEN given.ending = 'succeeded'                                             THEN 'succeeded'
                WHEN given.ending = 'unrecoverable'                                         THEN 'failed'
                WHEN s.state = 'cancelling'                                                 THEN 'cancelled'
                WHEN given.ending = 'recoverable' AND s.attempt < s.max_attempts            THEN 'retrying'
                WHEN given.ending = 'suspended' AND s.suspensions < :most_suspensions::integer THEN 'suspended'
                ELSE 'failed'
           END::tenure.state AS target
      FROM given
      JOIN tenure.job_state s ON s.id = given.job AND s.lease = given.fence
     WHERE given.fence IN (SELECT id FROM held)
       AND (given.ending <> 'stopped' OR s.state = 'cancelling')
     ORDER BY s.id
       FOR UPDATE OF s
),
settled AS (
    UPDATE tenure.job_state s
       SET state       = d.target,
           lease       = NULL,
           n           = s.n + 1,
           attempt     = s.attempt - CASE WHEN d.target = 'suspended' THEN 1 ELSE 0 END,
           suspensions = s.suspensions + CASE WHEN d.target = 'suspended' THEN 1 ELSE 0 END,
           failures    = s.failures + CASE WHEN d.target IN ('retrying', 'failed') THEN 1 ELSE 0 END,
           has_result  = d.target = 'succeeded' AND d.result <> 'null',
           due_at      = CASE WHEN d.target IN ('retrying', 'suspended') THEN tenure.now() + d.after END,
           finished_at = CASE WHEN d.target NOT IN ('retrying', 'suspended') THEN d.at END,
           updated_at  = d.at
      FROM decided d
     WHERE s.id = d.id AND s.lease = d.fence
    RETURNING s.id, d.at, s.n, s.state, s.fence, s.started_at, s.due_at, s.has_result, d.source, d.attempt,
              d.ending, d.result, d.error
),
recorded AS (
    INSERT INTO tenure.event (job, n, type, source, target, attempt, fence, at, actor)
    SELECT id, n, state::text, source, state, attempt, fence, at, :worker::text FROM settled
),
ended AS (
    INSERT INTO tenure.attempt (job, fence, number, worker, started_at, ended_at, ending, error)
    SELECT id, fence, attempt, :worker::text, started_at, at, ending, error FROM settled
),
answered AS (
    INSERT INTO tenure.result (job, body)
    SELECT id, result FROM settled WHERE has_result
),
timed AS (
    INSERT INTO tenure.timer (due_at, job, kind)
    SELECT due_at, id, CASE WHEN state = 'retrying' THEN 'retry' ELSE 'resume' END
      FROM settled WHERE state IN ('retrying', 'suspended')
),
-- The limit reads `settled`, so that settling, which may wait for locks, is over before claiming takes any.
-- Places come in the order in which they are to be served; whatever is locked is somebody else's.
picked AS MATERIALIZED (
    SELECT next.*
      FROM unnest(:lines::integer[], :ranks::smallint[], :after_seqs::bigint[]) AS place (line, rank, after)
     CROSS JOIN LATERAL (
               SELECT r.ctid AS tid, r.line, r.rank, r.seq, r.job, s.state,
                      greatest(tenure.now(), s.updated_at) AS at
                 FROM tenure.ready r
                 JOIN tenure.job_state s ON s.id = r.job
                WHERE r.line = place.line AND r.rank = place.rank AND r.seq > place.after
                ORDER BY r.line, r.rank, r.seq
                LIMIT :limit::integer
                  FOR UPDATE OF r, s SKIP LOCKED
           ) next
     LIMIT :limit::integer + 0 * (SELECT count(*) FROM settled)
),
out_of_line AS (
    DELETE FROM tenure.ready WHERE ctid = ANY (ARRAY(SELECT tid FROM picked))
),
leased AS MATERIALIZED (
    INSERT INTO tenure.lease (owner, expires_at, heartbeat_at, jobs)
    SELECT :worker::text, tenure.now() + :lease_for::interval, tenure.now(), array_agg(job)
      FROM picked WHERE state = 'queued'
    HAVING count(*) > 0
    RETURNING id
),
started AS (
    UPDATE tenure.job_state s
       SET state      = 'running',
           lease      = leased.id,
           fence      = leased.id,
           n          = s.n + 1,
           attempt    = s.attempt + 1,
           progress   = NULL,
           started_at = picked.at,
           updated_at = picked.at
      FROM picked, leased
     WHERE s.id = picked.job AND picked.state = 'queued'
    RETURNING s.id, picked.at, s.n, s.fence, s.attempt, s.queued_at, s.started_at, picked.line, picked.rank,
              picked.seq
),
announced AS (
    INSERT INTO tenure.event (job, n, type, source, target, attempt, fence, at, actor)
    SELECT id, n, 'started', 'queued', 'running', attempt, fence, at, :worker::text FROM started
)
SELECT id AS job, fence, state, NULL::integer AS line, NULL::smallint AS rank, NULL::bigint AS seq,
       NULL::smallint AS attempt, NULL::timestamptz AS queued_at, NULL::timestamptz AS started_at,
       NULL::text AS namespace, NULL::text AS params, NULL::text AS traceparent, NULL::smallint AS max_attempts,
       NULL::text AS on_lost, NULL::integer AS timeout_ms, NULL::integer AS grace_ms,
       NULL::integer AS backoff_base_ms, NULL::integer AS backoff_cap_ms, NULL::text AS retry_on,
       NULL::text AS fatal_on
  FROM settled
 UNION ALL
SELECT started.id, fence, NULL, started.line, rank, seq, attempt, queued_at, started_at, namespace, params,
       traceparent, max_attempts, on_lost, timeout_ms, grace_ms, backoff_base_ms, backoff_cap_ms, retry_on, fatal_on
  FROM started JOIN tenure.job ON job.id = started.id;

-- part: places
-- The lines a worker serves and where jobs stand in them: every (line, rank) that is not empty. A line nobody
-- stands in has no rank. Hops from one rank to the next, so that a long line costs no more than a short one.
SELECT line.id AS line, line.queue, line.definition, line.version, standing.rank
  FROM unnest(:queues::text[], :definitions::text[], :versions::integer[]) AS served (queue, definition, version)
  JOIN tenure.line USING (queue, definition, version)
  LEFT JOIN LATERAL (
           WITH RECURSIVE hop (rank) AS (
               (SELECT rank FROM tenure.ready WHERE ready.line = line.id ORDER BY rank LIMIT 1)
               UNION ALL
               SELECT (SELECT ready.rank FROM tenure.ready
                        WHERE ready.line = line.id AND ready.rank > hop.rank ORDER BY ready.rank LIMIT 1)
                 FROM hop WHERE hop.rank IS NOT NULL
           )
           SELECT rank FROM hop WHERE rank IS NOT NULL
       ) standing ON true;
