-- Give jobs back before their leases run out: in line again, the attempt refunded.
-- What was killed and must not run twice is buried. An attempt that has kept a step has got on: giving it back does not
-- count. Answers with the jobs that moved.
WITH
given AS MATERIALIZED (
    SELECT * FROM unnest(:jobs::uuid[], :fences::bigint[], :killed::boolean[]) AS given (job, fence, killed)
),
held AS MATERIALIZED (
    SELECT id FROM tenure.lease
     WHERE id = ANY (:held::bigint[]) AND owner = :worker::text AND expires_at > tenure.now()
),
returned AS MATERIALIZED (
    SELECT s.id, s.line, s.slots, s.state AS source, s.fence, s.attempt, given.killed, nextval('tenure.place') AS seq,
           greatest(tenure.now(), s.updated_at) AS at,
           s.hand_backs < :most::integer OR got_on.fence IS NOT NULL AS refunded, got_on.fence IS NULL AS counts,
           CASE WHEN s.state = 'cancelling'                                      THEN 'cancelled'
                WHEN given.killed AND job.on_lost = 'bury'                       THEN 'buried'
                WHEN s.hand_backs >= :most::integer AND got_on.fence IS NULL AND s.attempt >= s.max_attempts THEN 'failed'
                ELSE 'queued'
           END::tenure.state AS target
      FROM given
      JOIN held ON held.id = given.fence
      JOIN tenure.job_state s ON s.id = given.job AND s.lease = given.fence
      JOIN tenure.job ON job.id = s.id
      LEFT JOIN LATERAL (SELECT kept.fence FROM tenure.kept
                          WHERE kept.job = s.id AND kept.fence = given.fence LIMIT 1) got_on ON true
     ORDER BY s.id
       FOR UPDATE OF s
),
moved AS (
    UPDATE tenure.job_state s
       SET state       = returned.target,
           lease       = NULL,
           slots       = NULL,
           n           = s.n + 1,
           mark        = greatest(tenure.mark(), s.mark),
           attempt     = s.attempt - CASE WHEN returned.target = 'queued' AND returned.refunded THEN 1 ELSE 0 END,
           hand_backs  = s.hand_backs
                         + CASE WHEN returned.target = 'queued' AND returned.refunded AND returned.counts THEN 1 ELSE 0 END,
           failures    = s.failures + CASE WHEN returned.target IN ('buried', 'failed') THEN 1 ELSE 0 END,
           seq         = returned.seq,
           queued_at   = CASE WHEN returned.target = 'queued' THEN returned.at ELSE s.queued_at END,
           finished_at = CASE WHEN returned.target <> 'queued' THEN returned.at END,
           updated_at  = returned.at
      FROM returned
     WHERE s.id = returned.id AND s.lease = returned.fence
    RETURNING s.id, returned.at, returned.source, s.state, s.n, returned.attempt, s.fence, s.mark, s.line, s.rank,
              s.seq, s.started_at, returned.killed,
              CASE s.state
                   WHEN 'failed' THEN '{"kind":"HandedBack","message":"workers gave it back too often",'
                                      '"fingerprint":"319eef943725"}'
                   WHEN 'buried' THEN '{"kind":"Killed","message":"killed before its end, and must not run twice",'
                                      '"fingerprint":"5fd93c1212b5"}'
              END AS error
),
recorded AS (
    INSERT INTO tenure.event (job, n, type, source, target, attempt, fence, at, actor, reason, mark)
    SELECT id, n, CASE WHEN state = 'queued' THEN 'handed_back' ELSE state::text END, source, state, attempt, fence,
           at, :worker::text, CASE WHEN killed THEN 'killed before its end' ELSE 'not started' END, mark
      FROM moved
),
-- The slots its limits had given each of them are free again.
freed AS (
    UPDATE tenure.slot SET is_held = false
      FROM (SELECT unnest(line.limits) AS limited, unnest(string_to_array(returned.slots, ' ')::smallint[]) AS n
              FROM returned
             CROSS JOIN LATERAL (SELECT limits FROM tenure.line WHERE line.id = returned.line LIMIT 1) line
             WHERE returned.slots IS NOT NULL) held
     WHERE slot.limited = held.limited AND slot.n = held.n
),
tallied AS (
    INSERT INTO tenure.tally (line, state, n)
    SELECT line, step.state, sum(step.n)
      FROM moved CROSS JOIN LATERAL (VALUES (moved.source, -1), (moved.state, 1)) AS step (state, n)
     GROUP BY line, step.state
),
shelved AS (
    INSERT INTO tenure.finished (state, job, at, fingerprint)
    SELECT state, id, at,
           CASE WHEN state IN ('failed', 'buried')
                THEN (SELECT definition FROM tenure.line WHERE line.id = moved.line) || ':'
                     || (error::json ->> 'fingerprint')
           END
      FROM moved WHERE state <> 'queued'
),
-- The worker that served it is not here to run its hooks: another one will.
owed AS (
    INSERT INTO tenure.aftermath (queue, definition, version, job)
    SELECT line.queue, line.definition, line.version, moved.id
      FROM moved
     CROSS JOIN LATERAL (SELECT * FROM tenure.line WHERE line.id = moved.line LIMIT 1) line
     CROSS JOIN LATERAL (SELECT spec FROM tenure.definition
                          WHERE key = line.definition AND definition.version = line.version LIMIT 1) known
     WHERE moved.state <> 'queued' AND known.spec::json ->> 'hooks' <> '[]'
),
ended AS (
    INSERT INTO tenure.attempt (job, fence, number, worker, started_at, ended_at, ending, error)
    SELECT id, fence, attempt, :worker::text, started_at, at,
           CASE WHEN killed THEN 'killed' ELSE 'handed_back' END, error
      FROM moved
),
lined_up AS (
    INSERT INTO tenure.ready (line, rank, seq, job)
    SELECT line, rank, seq, id FROM moved WHERE state = 'queued'
)
SELECT id AS job, fence, state, line, rank FROM moved;
