-- Move jobs that wait for a time, for their first attempt or for another one, to another time. Two statements in one
-- transaction: the first locks the jobs, so that the second sees the timers that others have changed meanwhile. Answers
-- for every job found; `moved` says whether this call changed its time.

-- part: lock
SELECT id FROM tenure.job_state WHERE id = ANY (:ids::uuid[]) ORDER BY id FOR UPDATE;

-- part: move
-- A time that has passed means now. A job that is already due then, or waits for that very time, stays as it is, so that a
-- request may be repeated. One that was given up stays so. The note counts in `n` and not in `notes`, which bounds those
-- of handlers.
WITH
found AS MATERIALIZED (
    SELECT s.id, s.state, s.due_at AS before,
           greatest(tenure.now(), :run_at::timestamptz, tenure.now() + :delay::interval) AS due_at,
           greatest(tenure.now(), s.updated_at) AS at,
           CASE s.state WHEN 'scheduled' THEN 'scheduled' WHEN 'retrying' THEN 'retry' END AS kind,
           aside.job IS NOT NULL AS is_aside, given_up.job IS NOT NULL AS is_given_up
      FROM tenure.job_state s
      LEFT JOIN tenure.aside ON aside.job = s.id
      LEFT JOIN tenure.timer given_up
             ON given_up.due_at = s.due_at AND given_up.job = s.id AND given_up.kind = 'give_up'
     WHERE s.id = ANY (:ids::uuid[])
),
moving AS MATERIALIZED (
    SELECT * FROM found
     WHERE kind IS NOT NULL AND NOT is_aside AND NOT is_given_up
       AND (before IS NULL OR greatest(before, tenure.now()) <> due_at)
),
moved AS (
    UPDATE tenure.job_state s
       SET due_at = moving.due_at, n = s.n + 1, mark = greatest(tenure.mark(), s.mark), updated_at = moving.at
      FROM moving
     WHERE s.id = moving.id
    RETURNING s.id, s.n, s.state, s.attempt, s.fence, s.mark, moving.at, moving.before, moving.due_at
),
untimed AS (
    DELETE FROM tenure.timer USING moving
     WHERE timer.due_at = moving.before AND timer.job = moving.id AND timer.kind = moving.kind
),
timed AS (
    INSERT INTO tenure.timer (due_at, job, kind) SELECT due_at, id, kind FROM moving ON CONFLICT DO NOTHING
),
recorded AS (
    INSERT INTO tenure.event (job, n, type, source, target, attempt, fence, at, actor, payload, mark)
    SELECT id, n, 'rescheduled', state, state, attempt, fence, at, :actor::text,
           '{"from":' || coalesce('"' || to_char(before AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') || '"', 'null')
           || ',"to":"' || to_char(due_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') || '"}', mark
      FROM moved
)
SELECT id AS job, state, is_aside, is_given_up, id IN (SELECT id FROM moving) AS moved FROM found;
