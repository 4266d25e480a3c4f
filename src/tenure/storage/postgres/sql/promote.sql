-- Take the steps that the clock has made due: to `queued`, or to `failed` where a worker gave up.
-- A timer that its job no longer waits for is dropped, and so is one whose job is gone: it would stay due for ever. Timers
-- of other kinds than these are a newer version's, and are left alone.
WITH
due AS MATERIALIZED (
    SELECT next.*, nextval('tenure.place') AS seq
      FROM (SELECT timer.ctid AS tid, timer.kind, s.id, s.state AS source, greatest(tenure.now(), s.updated_at) AS at,
                   s.due_at = timer.due_at AND s.state IN ('scheduled', 'retrying', 'suspended') AS counts
              FROM tenure.timer
              JOIN tenure.job_state s ON s.id = timer.job
             WHERE timer.due_at <= tenure.now() AND timer.kind IN ('hold', 'scheduled', 'retry', 'resume', 'wait', 'give_up')
-- only: named
               AND timer.job = ANY (:named::uuid[])
-- only: end
             ORDER BY timer.due_at, timer.job
             LIMIT :limit::integer
               FOR UPDATE OF timer, s SKIP LOCKED) next
),
-- Looked for only when nothing else is left to do. A timer and its job come in one transaction: a statement that sees the one and not
-- the other knows that the job was pruned. The inner LIMIT keeps this a look-up by id.
gone AS MATERIALIZED (
    SELECT timer.ctid AS tid
      FROM tenure.timer
     WHERE timer.ctid = ANY (ARRAY(
               SELECT first.tid
                 FROM (SELECT ctid AS tid, job FROM tenure.timer
                        WHERE due_at <= tenure.now() AND kind IN ('hold', 'scheduled', 'retry', 'resume', 'wait', 'give_up')
                        ORDER BY due_at, job
                        LIMIT CASE WHEN (SELECT count(*) FROM due) < :limit::integer THEN :limit::integer ELSE 0 END) first
                WHERE (SELECT s.id FROM tenure.job_state s WHERE s.id = first.job LIMIT 1) IS NULL))
       FOR UPDATE SKIP LOCKED
),
dropped AS (
    DELETE FROM tenure.timer WHERE ctid = ANY (ARRAY(SELECT tid FROM due UNION ALL SELECT tid FROM gone))
),
moved AS (
    UPDATE tenure.job_state s
       SET state       = CASE due.kind WHEN 'give_up' THEN 'failed' ELSE 'queued' END::tenure.state,
           n           = s.n + 1,
           mark        = greatest(tenure.mark(), s.mark),
           seq         = due.seq,
           due_at      = NULL,
           queued_at   = CASE due.kind WHEN 'give_up' THEN s.queued_at ELSE due.at END,
           finished_at = CASE due.kind WHEN 'give_up' THEN due.at END,
           updated_at  = due.at
      FROM due
     WHERE s.id = due.id AND due.counts
    RETURNING s.id, due.at, due.source, s.state, s.n, s.attempt, s.fence, s.line, s.rank, s.seq, s.mark
),
recorded AS (
    INSERT INTO tenure.event (job, n, type, source, target, attempt, fence, at, actor, reason, mark)
    SELECT id, n, CASE WHEN source = 'suspended' THEN 'resumed' ELSE state::text END, source, state, attempt, fence,
           at, 'clock', CASE WHEN state = 'failed' THEN 'given up' END, mark
      FROM moved
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
           (SELECT definition FROM tenure.line WHERE line.id = moved.line) || ':'
           || coalesce((SELECT error::json ->> 'fingerprint' FROM tenure.attempt
                         WHERE attempt.job = moved.id ORDER BY attempt.fence DESC LIMIT 1), '000000000000')
      FROM moved WHERE state = 'failed'
),
-- The worker that served it is not here to run its hooks: another one will.
owed AS (
    INSERT INTO tenure.aftermath (queue, definition, version, job)
    SELECT line.queue, line.definition, line.version, moved.id
      FROM moved
     CROSS JOIN LATERAL (SELECT * FROM tenure.line WHERE line.id = moved.line LIMIT 1) line
     CROSS JOIN LATERAL (SELECT spec FROM tenure.definition
                          WHERE key = line.definition AND definition.version = line.version LIMIT 1) known
     WHERE moved.state = 'failed' AND known.spec::json ->> 'hooks' <> '[]'
),
lined_up AS (
    INSERT INTO tenure.ready (line, rank, seq, job)
    SELECT line, rank, seq, id FROM moved WHERE state = 'queued'
)
SELECT id AS job, source, state AS target, state, line, rank FROM moved ORDER BY seq;
