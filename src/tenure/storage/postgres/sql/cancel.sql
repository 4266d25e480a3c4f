-- Cancel jobs: those without an owner at once, running ones by asking their owner. Those in other states than are meant stay.
-- One that is aside stays, too: no worker would hear of it. Answers for every job found, whether it moved or not.
WITH
found AS MATERIALIZED (
    SELECT s.id, s.state AS source, s.due_at, greatest(tenure.now(), s.updated_at) AS at,
           aside.job IS NOT NULL AS is_aside,
           CASE WHEN s.state <> ALL (:states::tenure.state[]) OR aside.job IS NOT NULL THEN NULL
                WHEN s.state = 'running' THEN 'cancelling'
                WHEN s.state IN ('created', 'scheduled', 'queued', 'retrying', 'suspended') THEN 'cancelled'
           END::tenure.state AS target
      FROM tenure.job_state s
      LEFT JOIN tenure.aside ON aside.job = s.id
     WHERE s.id = ANY (:ids::uuid[])
     ORDER BY s.id
       FOR UPDATE OF s
),
moved AS (
    UPDATE tenure.job_state s
       SET state               = found.target,
           n                   = s.n + 1,
           mark                = greatest(tenure.mark(), s.mark),
           cancel_requested_at = found.at,
           due_at              = NULL,
           finished_at         = CASE WHEN found.target = 'cancelled' THEN found.at END,
           updated_at          = found.at
      FROM found
     WHERE s.id = found.id AND found.target IS NOT NULL
    RETURNING s.id, found.at, found.source, s.state, s.n, s.attempt, s.fence, s.line, s.rank, s.seq,
              s.mark, found.due_at
),
recorded AS (
    INSERT INTO tenure.event (job, n, type, source, target, attempt, fence, at, actor, reason, mark)
    SELECT id, n, state::text, source, state, attempt, fence, at, :actor::text, :reason::text, mark FROM moved
),
tallied AS (
    INSERT INTO tenure.tally (line, state, n)
    SELECT line, step.state, sum(step.n)
      FROM moved CROSS JOIN LATERAL (VALUES (moved.source, -1), (moved.state, 1)) AS step (state, n)
     GROUP BY line, step.state
),
shelved AS (
    INSERT INTO tenure.finished (state, job, at) SELECT state, id, at FROM moved WHERE state = 'cancelled'
),
-- The worker that served it is not here to run its hooks: another one will.
owed AS (
    INSERT INTO tenure.aftermath (queue, definition, version, job)
    SELECT line.queue, line.definition, line.version, moved.id
      FROM moved
     CROSS JOIN LATERAL (SELECT * FROM tenure.line WHERE line.id = moved.line LIMIT 1) line
     CROSS JOIN LATERAL (SELECT spec FROM tenure.definition
                          WHERE key = line.definition AND definition.version = line.version LIMIT 1) known
     WHERE moved.state = 'cancelled' AND known.spec::json ->> 'hooks' <> '[]'
),
-- Rows that this statement's snapshot cannot see yet stay behind; a claim or a promotion drops them.
out_of_line AS (
    DELETE FROM tenure.ready USING moved
     WHERE moved.source = 'queued' AND ready.line = moved.line AND ready.rank = moved.rank AND ready.seq = moved.seq
),
untimed AS (
    DELETE FROM tenure.timer USING moved
     WHERE timer.job = moved.id
       AND timer.due_at = CASE WHEN moved.source = 'created' THEN 'infinity' ELSE coalesce(moved.due_at, 'infinity') END
       AND timer.kind IN ('hold', 'scheduled', 'retry', 'resume', 'wait', 'give_up')
),
unwaited AS (
    DELETE FROM tenure.wait USING moved WHERE moved.source = 'suspended' AND wait.job = moved.id
)
SELECT id AS job, coalesce(target, source) AS state, target IS NOT NULL AS moved, is_aside FROM found;
