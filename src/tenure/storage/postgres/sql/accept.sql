-- Let held jobs go: to `scheduled` while their time is ahead, else to `queued`.
-- Answers for every job found, whether it moved or not.
WITH
found AS MATERIALIZED (
    SELECT s.id, s.state AS source, s.line, s.rank, s.due_at, nextval('tenure.place') AS seq,
           greatest(tenure.now(), s.updated_at) AS at,
           CASE WHEN s.state <> 'created'     THEN NULL
                WHEN s.due_at > tenure.now() THEN 'scheduled'
                ELSE 'queued'
           END::tenure.state AS target
      FROM tenure.job_state s
     WHERE s.id = ANY (:ids::uuid[])
     ORDER BY s.id
       FOR UPDATE
),
moved AS (
    UPDATE tenure.job_state s
       SET state      = found.target,
           n          = s.n + 1,
           mark       = greatest(pg_current_xact_id(), s.mark),
           seq        = found.seq,
           due_at     = CASE WHEN found.target = 'scheduled' THEN s.due_at END,
           queued_at  = CASE WHEN found.target = 'queued' THEN found.at END,
           updated_at = found.at
      FROM found
     WHERE s.id = found.id AND found.target IS NOT NULL
    RETURNING s.id, found.at, s.state, s.n, s.attempt, s.fence, s.line, s.rank, s.seq, s.due_at, s.mark
),
recorded AS (
    INSERT INTO tenure.event (job, n, type, source, target, attempt, fence, at, actor, mark)
    SELECT id, n, 'accepted', 'created', state, attempt, fence, at, 'api', mark FROM moved
),
tallied AS (
    INSERT INTO tenure.tally (line, state, n)
    SELECT line, step.state, sum(step.n)
      FROM moved CROSS JOIN LATERAL (VALUES ('created'::tenure.state, -1), (moved.state, 1)) AS step (state, n)
     GROUP BY line, step.state
),
released AS (
    DELETE FROM tenure.timer USING moved WHERE timer.due_at = 'infinity' AND timer.job = moved.id AND timer.kind = 'hold'
),
lined_up AS (
    INSERT INTO tenure.ready (line, rank, seq, job)
    SELECT line, rank, seq, id FROM moved WHERE state = 'queued'
),
timed AS (
    INSERT INTO tenure.timer (due_at, job, kind)
    SELECT due_at, id, 'scheduled' FROM moved WHERE state = 'scheduled'
)
SELECT id AS job, coalesce(target, source) AS state, target IS NOT NULL AS moved, line, rank FROM found;
