-- Give slots back until what jobs wait for has come, as long as their leases hold; the attempts are refunded. Three
-- statements in one transaction: the first locks the jobs, so that the second sees what others have written meanwhile;
-- the third (`rouse`) resumes those for which it is there already. Whoever comes second sees what the first has written.

-- part: lock
SELECT id FROM tenure.job_state WHERE id = ANY (:jobs::uuid[]) ORDER BY id FOR UPDATE;

-- part: move
WITH
given AS MATERIALIZED (
    SELECT *
      FROM unnest(:jobs::uuid[], :fences::bigint[], :kinds::text[], :steps::text[], :signals::text[],
                  :timeouts::interval[], :cpu_ms::bigint[], :peak_bytes::bigint[], :exit_codes::integer[],
                  :exit_signals::smallint[])
           AS given (job, fence, kind, step, signal, timeout, cpu_ms, peak_bytes, exit_code, exit_signal)
),
held AS MATERIALIZED (
    SELECT id FROM tenure.lease
     WHERE id = ANY (:held::bigint[]) AND owner = :worker::text AND expires_at > tenure.now()
),
-- A wait that was kept before ends when it said first. One whose step is finished is over.
decided AS MATERIALIZED (
    SELECT s.id, s.line, s.slots, s.state AS source, s.attempt, given.*, greatest(tenure.now(), s.updated_at) AS at,
           known.status AS was,
           CASE WHEN given.kind = 'answer' OR known.status IS NULL THEN tenure.now() + given.timeout
                WHEN known.status = 'waiting'                      THEN known.until_at
                ELSE tenure.now()
           END AS until_at,
           CASE WHEN s.state = 'cancelling'                            THEN 'cancelled'
                WHEN s.suspensions >= :most_suspensions::integer       THEN 'failed'
                ELSE 'suspended'
           END::tenure.state AS target
      FROM given
      JOIN held ON held.id = given.fence
      JOIN tenure.job_state s ON s.id = given.job AND s.lease = given.fence
      LEFT JOIN LATERAL (SELECT status, until_at FROM tenure.step
                          WHERE step.job = given.job AND step.name = given.step LIMIT 1) known ON true
),
moved AS (
    UPDATE tenure.job_state s
       SET state       = d.target,
           lease       = NULL,
           slots       = NULL,
           n           = s.n + 1,
           mark        = greatest(tenure.mark(), s.mark),
           attempt     = s.attempt - CASE WHEN d.target = 'suspended' THEN 1 ELSE 0 END,
           suspensions = s.suspensions + CASE WHEN d.target = 'suspended' THEN 1 ELSE 0 END,
           hand_backs  = CASE WHEN d.target = 'suspended' THEN 0 ELSE s.hand_backs END,
           failures    = s.failures + CASE WHEN d.target = 'failed' THEN 1 ELSE 0 END,
           due_at      = CASE WHEN d.target = 'suspended' THEN d.until_at END,
           finished_at = CASE WHEN d.target <> 'suspended' THEN d.at END,
           updated_at  = d.at
      FROM decided d
     WHERE s.id = d.id AND s.lease = d.fence
    RETURNING s.id, s.line, d.at, s.n, s.mark, s.state, s.fence, s.rank, s.started_at, s.due_at, d.source, d.attempt,
              d.kind, d.step, d.signal, d.was, d.until_at, d.cpu_ms, d.peak_bytes, d.exit_code, d.exit_signal,
              CASE WHEN s.state = 'failed'
                   THEN '{"kind":"SuspendedTooOften","message":"it was suspended too often",'
                        || '"fingerprint":"95401287e6f7"}'
              END AS error
),
recorded AS (
    INSERT INTO tenure.event (job, n, type, source, target, attempt, fence, at, actor, reason, mark)
    SELECT id, n, state::text, source, state, attempt, fence, at, :worker::text,
           CASE WHEN state <> 'suspended' THEN NULL
                WHEN kind = 'signal' THEN 'waits for the signal ' || signal
                WHEN kind = 'answer' THEN 'waits for an answer about ' || step
           END, mark
      FROM moved
),
ended AS (
    INSERT INTO tenure.attempt (
        job, fence, number, worker, started_at, ended_at, ending, error, cpu_ms, peak_bytes, exit_code, signal)
    SELECT id, fence, attempt, :worker::text, started_at, at, 'suspended', error, cpu_ms, peak_bytes, exit_code,
           exit_signal
      FROM moved
),
-- The slots its limits had given each of them are free again.
freed AS (
    UPDATE tenure.slot SET is_held = false
      FROM (SELECT unnest(line.limits) AS limited, unnest(string_to_array(decided.slots, ' ')::smallint[]) AS n
              FROM decided
             CROSS JOIN LATERAL (SELECT limits FROM tenure.line WHERE line.id = decided.line LIMIT 1) line
             WHERE decided.slots IS NOT NULL) held
     WHERE slot.limited = held.limited AND slot.n = held.n
),
tallied AS (
    INSERT INTO tenure.tally (line, state, n)
    SELECT line, step.state, sum(step.n)
      FROM moved CROSS JOIN LATERAL (VALUES (moved.source, -1), (moved.state, 1)) AS step (state, n)
     GROUP BY line, step.state
),
timed AS (
    INSERT INTO tenure.timer (due_at, job, kind)
    SELECT coalesce(due_at, 'infinity'), id, CASE WHEN due_at IS NULL THEN 'wait' ELSE 'resume' END
      FROM moved WHERE state = 'suspended'
),
waiting AS (
    INSERT INTO tenure.wait (job, fence, at, kind, step, signal)
    SELECT id, fence, at, kind, step, signal FROM moved WHERE state = 'suspended'
    ON CONFLICT (job)
    DO UPDATE SET fence = excluded.fence, at = excluded.at, kind = excluded.kind, step = excluded.step,
                  signal = excluded.signal
),
-- An effect that is asked about stays as it is.
kept AS (
    INSERT INTO tenure.step (job, fence, at, until_at, name, kind, status)
    SELECT id, fence, at, until_at, step, CASE WHEN kind = 'time' THEN 'sleep' ELSE 'wait' END, 'waiting'
      FROM moved WHERE state = 'suspended' AND kind <> 'answer' AND was IS NULL
    RETURNING job
),
numbered AS (
    INSERT INTO tenure.kept AS k (job, fence, bytes, steps)
    SELECT id, fence, 0, 1 FROM moved WHERE id IN (SELECT job FROM kept)
    ON CONFLICT (job) DO UPDATE SET fence = excluded.fence, steps = k.steps + 1
),
shelved AS (
    INSERT INTO tenure.finished (state, job, at, fingerprint)
    SELECT state, id, at,
           CASE WHEN state = 'failed'
                THEN (SELECT definition FROM tenure.line WHERE line.id = moved.line) || ':'
                     || (error::json ->> 'fingerprint')
           END
      FROM moved WHERE state <> 'suspended'
),
-- Whoever takes it out runs its hooks, as for all that ended without its owner's report.
owed AS (
    INSERT INTO tenure.aftermath (queue, definition, version, job)
    SELECT line.queue, line.definition, line.version, moved.id
      FROM moved
     CROSS JOIN LATERAL (SELECT * FROM tenure.line WHERE line.id = moved.line LIMIT 1) line
     CROSS JOIN LATERAL (SELECT spec FROM tenure.definition
                          WHERE key = line.definition AND definition.version = line.version LIMIT 1) known
     WHERE moved.state <> 'suspended' AND known.spec::json ->> 'hooks' <> '[]'
)
SELECT id AS job, fence, state, line, rank FROM moved;
