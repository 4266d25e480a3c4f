-- Claim certain jobs by their ids, as messages name them: each under a fresh lease, if it is queued and free.
-- A job whose time has come, or whose lease has run out, has to be promoted or reaped before: what is to be done for it
-- is part of the answer. Paused jobs and those under limits are left to the ordinary claim, which counts what runs.
-- What is locked belongs to another claim, or a step under way: it is passed over, never waited for.
WITH
-- LIMIT keeps all of these look-ups by id.
known AS MATERIALIZED (
    SELECT given.id, s.line, s.rank, s.seq, s.lease, line.queue, line.definition, line.version,
           CASE
               WHEN s.id IS NULL THEN 'unknown'
               WHEN s.state IN ('succeeded', 'failed', 'cancelled', 'buried') THEN 'finished'
               WHEN NOT EXISTS (SELECT FROM unnest(:queues::text[], :definitions::text[], :versions::integer[])
                                            AS served (queue, definition, version)
                                 WHERE served.queue = line.queue AND served.definition = line.definition
                                   AND served.version = line.version) THEN 'unserved'
               WHEN EXISTS (SELECT FROM tenure.aside WHERE aside.job = s.id) THEN 'aside'
               WHEN s.state IN ('running', 'cancelling')
               THEN CASE WHEN EXISTS (SELECT FROM tenure.lease
                                       WHERE lease.id = s.lease AND lease.expires_at <= tenure.now())
                         THEN 'expired' ELSE 'owned' END
               WHEN s.state <> 'queued' THEN CASE WHEN s.due_at <= tenure.now() THEN 'due' ELSE 'not-due' END
               WHEN EXISTS (SELECT FROM tenure.pause
                             WHERE pause.queue IN ('', line.queue) AND pause.definition IN ('', line.definition)
                               AND pause.version IN (0, line.version)
                               AND (pause.until IS NULL OR pause.until > tenure.now())) THEN 'paused'
               WHEN line.limits <> '{}' THEN 'limited'
           END AS why
      FROM unnest(:ids::uuid[]) AS given (id)
      LEFT JOIN LATERAL (SELECT * FROM tenure.job_state WHERE job_state.id = given.id LIMIT 1) s ON true
      LEFT JOIN LATERAL (SELECT * FROM tenure.line WHERE line.id = s.line LIMIT 1) line ON true
),
picked AS MATERIALIZED (
    SELECT r.ctid AS tid, s.id AS job, s.state, known.line, known.rank, known.seq,
           greatest(tenure.now(), s.updated_at) AS at
      FROM known
      JOIN tenure.ready r ON r.line = known.line AND r.rank = known.rank AND r.seq = known.seq AND r.job = known.id
      JOIN tenure.job_state s ON s.id = known.id AND s.state = 'queued' AND s.seq = r.seq
     WHERE known.why IS NULL
       FOR UPDATE OF r, s SKIP LOCKED
),
out_of_line AS (
    DELETE FROM tenure.ready WHERE ctid = ANY (ARRAY(SELECT tid FROM picked))
),
leased AS MATERIALIZED (
    INSERT INTO tenure.lease (owner, expires_at, heartbeat_at, jobs)
    SELECT :worker::text, tenure.now() + :lease_for::interval, tenure.now(), array_agg(job)
      FROM picked
    HAVING count(*) > 0
    RETURNING id
),
started AS (
    UPDATE tenure.job_state s
       SET state      = 'running',
           lease      = leased.id,
           fence      = leased.id,
           n          = s.n + 1,
           mark       = greatest(tenure.mark(), s.mark),
           attempt    = s.attempt + 1,
           progress   = CASE WHEN s.suspensions > 0 THEN s.progress END,
           started_at = picked.at,
           updated_at = picked.at
      FROM picked, leased
     WHERE s.id = picked.job
    RETURNING s.id, picked.at, s.n, s.mark, s.fence, s.attempt, s.queued_at, s.started_at, s.line
),
announced AS (
    INSERT INTO tenure.event (job, n, type, source, target, attempt, fence, at, actor, mark)
    SELECT id, n, 'started', 'queued', 'running', attempt, fence, at, :worker::text, mark FROM started
),
tallied AS (
    INSERT INTO tenure.tally (line, state, n)
    SELECT line, step.state, step.n * begun.n
      FROM (SELECT line, count(*) AS n FROM started GROUP BY line) begun
     CROSS JOIN (VALUES ('queued'::tenure.state, -1), ('running', 1)) AS step (state, n)
)
SELECT known.id AS job, fence, attempt, queued_at, started_at, namespace, params, traceparent, max_attempts, on_lost,
       timeout_ms, grace_ms, backoff_base_ms, backoff_cap_ms, retry_on, fatal_on, known.queue, known.definition,
       known.version, known.lease, CASE WHEN fence IS NULL THEN coalesce(why, 'owned') END AS why
  FROM known
  LEFT JOIN started ON started.id = known.id
  LEFT JOIN LATERAL (SELECT * FROM tenure.job WHERE job.id = started.id LIMIT 1) job ON true;
