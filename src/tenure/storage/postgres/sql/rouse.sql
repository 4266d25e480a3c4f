-- Resume suspended jobs for which has come what they wait for: the signal, or that an effect is in doubt no more. Whoever
-- calls it has locked their rows in a statement before, so that this one sees what others have written until then.
WITH
due AS MATERIALIZED (
    SELECT s.id, s.due_at, wait.kind, greatest(tenure.now(), s.updated_at) AS at, nextval('tenure.place') AS seq
      FROM unnest(:jobs::uuid[]) AS asked (id)
     CROSS JOIN LATERAL (SELECT * FROM tenure.job_state
                          WHERE job_state.id = asked.id AND job_state.state = 'suspended' LIMIT 1) s
     CROSS JOIN LATERAL (SELECT * FROM tenure.wait WHERE wait.job = s.id AND wait.fence = s.fence LIMIT 1) wait
     WHERE CASE wait.kind
                WHEN 'signal' THEN EXISTS (SELECT FROM tenure.signal
                                            WHERE signal.job = s.id AND signal.name = wait.signal)
                WHEN 'answer' THEN NOT EXISTS (SELECT FROM tenure.step
                                                WHERE step.job = s.id AND step.name = wait.step
                                                  AND step.status = 'intended')
                ELSE false
           END
       AND NOT EXISTS (SELECT FROM tenure.aside WHERE aside.job = s.id)
     ORDER BY s.id
),
moved AS (
    UPDATE tenure.job_state s
       SET state      = 'queued',
           n          = s.n + 1,
           mark       = greatest(tenure.mark(), s.mark),
           seq        = due.seq,
           due_at     = NULL,
           queued_at  = due.at,
           updated_at = due.at
      FROM due
     WHERE s.id = due.id
    RETURNING s.id, due.at, s.state, s.n, s.attempt, s.fence, s.line, s.rank, s.seq, s.mark, due.due_at
),
recorded AS (
    INSERT INTO tenure.event (job, n, type, source, target, attempt, fence, at, actor, mark)
    SELECT id, n, 'resumed', 'suspended', state, attempt, fence, at, :actor::text, mark FROM moved
),
tallied AS (
    INSERT INTO tenure.tally (line, state, n)
    SELECT line, step.state, sum(step.n)
      FROM moved CROSS JOIN LATERAL (VALUES ('suspended'::tenure.state, -1), (moved.state, 1)) AS step (state, n)
     GROUP BY line, step.state
),
untimed AS (
    DELETE FROM tenure.timer USING moved
     WHERE timer.due_at = coalesce(moved.due_at, 'infinity') AND timer.job = moved.id
       AND timer.kind = CASE WHEN moved.due_at IS NULL THEN 'wait' ELSE 'resume' END
),
unwaited AS (
    DELETE FROM tenure.wait USING moved WHERE wait.job = moved.id
),
lined_up AS (
    INSERT INTO tenure.ready (line, rank, seq, job) SELECT line, rank, seq, id FROM moved
)
SELECT id AS job, fence, state, line, rank FROM moved;
