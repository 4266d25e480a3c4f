-- Take jobs from owners whose leases have run out: back in line while attempts are left.
-- By fence, so that a job claimed anew in the meantime is left alone.
WITH
expired AS MATERIALIZED (
    SELECT id, owner, jobs
      FROM tenure.lease
     WHERE expires_at <= tenure.now()
-- only: named
       AND id = ANY (:leases::bigint[])
-- only: end
     ORDER BY id
     LIMIT :limit::integer
       FOR UPDATE SKIP LOCKED
),
lost AS MATERIALIZED (
    SELECT s.id, s.line, s.slots, s.state AS source, s.fence, expired.owner, job.traceparent, nextval('tenure.place') AS seq,
           greatest(tenure.now(), s.updated_at) AS at,
           CASE WHEN s.state = 'cancelling'        THEN 'cancelled'
                WHEN job.on_lost = 'bury'          THEN 'buried'
                WHEN s.attempt >= s.max_attempts   THEN 'failed'
                ELSE 'queued'
           END::tenure.state AS target
      FROM expired
     CROSS JOIN LATERAL (
               SELECT * FROM tenure.job_state s
                WHERE s.id = ANY (expired.jobs) AND s.lease = expired.id
-- only: named
                  AND s.id = ANY (:named::uuid[])
-- only: end
                  FOR UPDATE SKIP LOCKED
           ) s
     CROSS JOIN LATERAL (SELECT on_lost, traceparent FROM tenure.job WHERE job.id = s.id LIMIT 1) job   -- a look-up, on 13 too
),
moved AS (
    UPDATE tenure.job_state s
       SET state       = lost.target,
           lease       = NULL,
           slots       = NULL,
           n           = s.n + 1,
           mark        = greatest(tenure.mark(), s.mark),
           failures    = s.failures + CASE WHEN lost.target = 'cancelled' THEN 0 ELSE 1 END,
           seq         = lost.seq,
           queued_at   = CASE WHEN lost.target = 'queued' THEN lost.at ELSE s.queued_at END,
           finished_at = CASE WHEN lost.target <> 'queued' THEN lost.at END,
           updated_at  = lost.at
      FROM lost
     WHERE s.id = lost.id AND s.lease = lost.fence
    RETURNING s.id, lost.at, lost.source, s.state, s.n, s.attempt, s.fence, s.line, s.rank, s.seq,
              s.mark, s.started_at, s.max_attempts, lost.owner, lost.traceparent,
              '{"kind":"WorkerLost","message":"the lease ran out","fingerprint":"37becb3667f0"}' AS error
),
recorded AS (
    INSERT INTO tenure.event (job, n, type, source, target, attempt, fence, at, actor, reason, mark)
    SELECT id, n, CASE WHEN state = 'queued' THEN 'orphaned' ELSE state::text END, source, state, attempt, fence,
           at, :actor::text, :reason::text, mark
      FROM moved
),
-- The slots its limits had given each of them are free again.
freed AS (
    UPDATE tenure.slot SET is_held = false
      FROM (SELECT unnest(line.limits) AS limited, unnest(string_to_array(lost.slots, ' ')::smallint[]) AS n
              FROM lost
             CROSS JOIN LATERAL (SELECT limits FROM tenure.line WHERE line.id = lost.line LIMIT 1) line
             WHERE lost.slots IS NOT NULL) held
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
    SELECT id, fence, attempt, owner, started_at, at, 'lost', error FROM moved
),
lined_up AS (
    INSERT INTO tenure.ready (line, rank, seq, job)
    SELECT line, rank, seq, id FROM moved WHERE state = 'queued'
),
-- A lease stays while a job of it could not be locked; the next run comes back to it.
swept AS (
    DELETE FROM tenure.lease USING expired
     WHERE lease.id = expired.id
       AND NOT EXISTS (SELECT FROM tenure.job_state s
                        WHERE s.id = ANY (expired.jobs) AND s.lease = expired.id
                          AND s.id NOT IN (SELECT id FROM moved))
)
SELECT moved.id AS job, source, state AS target, state, line, rank, owner AS worker, stood.definition, stood.version,
       stood.queue, attempt, max_attempts, started_at, at AS ended_at, traceparent
  FROM moved
 CROSS JOIN LATERAL (SELECT * FROM tenure.line WHERE line.id = moved.line LIMIT 1) stood
 ORDER BY moved.id;
