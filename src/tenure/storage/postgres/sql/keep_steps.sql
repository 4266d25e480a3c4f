-- Keep steps of attempts, as long as their leases hold. A name comes once a job and call. Answers for every step by its
-- place in the call. A job whose row another transaction has locked is passed over, so that the others need not wait for
-- it: its steps are `locked`, and come again in a transaction of their own, which locks it first.

-- part: lock
SELECT id FROM tenure.job_state WHERE id = :job::uuid FOR UPDATE;

-- part: keep
WITH
given AS MATERIALIZED (
    SELECT *, coalesce(octet_length(body), 0) AS size
      FROM unnest(:jobs::uuid[], :fences::bigint[], :names::text[], :kinds::text[], :statuses::text[], :calls::text[],
                  :bodies::text[])
           WITH ORDINALITY AS given (job, fence, name, kind, status, call, body, place)
),
held AS MATERIALIZED (
    SELECT id FROM tenure.lease
     WHERE id = ANY (:held::bigint[]) AND owner = :worker::text AND expires_at > tenure.now()
),
known AS MATERIALIZED (
    SELECT s.id, s.fence
      FROM (SELECT DISTINCT job, fence FROM given) asked
     CROSS JOIN LATERAL (SELECT id, fence FROM tenure.job_state
                          WHERE job_state.id = asked.job AND job_state.lease = asked.fence LIMIT 1) s
     WHERE asked.fence IN (SELECT id FROM held)
),
owned AS MATERIALIZED (
    SELECT s.id, s.fence, s.state, s.attempt, s.notes, greatest(tenure.now(), s.updated_at) AS at
      FROM known
      JOIN tenure.job_state s ON s.id = known.id AND s.lease = known.fence
     ORDER BY s.id
       FOR UPDATE OF s SKIP LOCKED
),
judged AS MATERIALIZED (
    SELECT given.*, owned.at, found.status AS was, found.fence AS was_fence, coalesce(found.size, 0) AS had,
           CASE WHEN found.status IS NULL                                        THEN 'new'
                WHEN found.kind <> given.kind
                     OR found.call <> given.call AND found.status <> 'waiting'   THEN 'differs'
                WHEN found.status = given.status AND found.fence = given.fence
                     AND found.body IS NOT DISTINCT FROM given.body              THEN 'same'
                WHEN found.status IN ('done', 'skipped')
                     OR found.status = 'waiting' AND given.status <> 'done'      THEN 'differs'
                ELSE 'next'
           END AS verdict
      FROM given
      JOIN owned ON owned.id = given.job AND owned.fence = given.fence
      LEFT JOIN LATERAL (SELECT * FROM tenure.step
                          WHERE step.job = given.job AND step.name = given.name LIMIT 1) found ON true
),
-- How many steps and bytes there would be with each, after all of this call before it.
summed AS MATERIALIZED (
    SELECT judged.*,
           coalesce(kept.steps, 0) + count(*) FILTER (WHERE verdict = 'new') OVER before AS steps,
           coalesce(kept.bytes, 0) + coalesce(sum(size - had) FILTER (WHERE verdict IN ('new', 'next')) OVER before, 0) AS bytes
      FROM judged
      LEFT JOIN LATERAL (SELECT * FROM tenure.kept WHERE kept.job = judged.job LIMIT 1) kept ON true
    WINDOW before AS (PARTITION BY judged.job ORDER BY place)
),
fitting AS MATERIALIZED (
    SELECT * FROM summed
     WHERE (verdict = 'new' AND steps <= :most_steps::bigint OR verdict = 'next')
       AND (size <= had OR bytes <= :most_bytes::bigint)
),
-- What another transaction has written since this statement began is in the way of both: then the step is `locked`.
added AS (
    INSERT INTO tenure.step (job, fence, at, size, name, kind, status, call, body)
    SELECT job, fence, at, octet_length(body), name, kind, status, call, body
      FROM fitting WHERE verdict = 'new' ORDER BY place
    ON CONFLICT DO NOTHING
    RETURNING job, name
),
moved AS (
    UPDATE tenure.step
       SET status = fitting.status, fence = fitting.fence, at = fitting.at, call = fitting.call,
           size = octet_length(fitting.body), body = fitting.body, answered_by = NULL
      FROM fitting
     WHERE verdict = 'next' AND step.job = fitting.job AND step.name = fitting.name
       AND step.status = fitting.was AND step.fence = fitting.was_fence
    RETURNING step.job, step.name
),
written AS MATERIALIZED (
    SELECT fitting.*
      FROM fitting
      JOIN (SELECT * FROM added UNION ALL SELECT * FROM moved) both_kinds USING (job, name)
),
tallied AS (
    INSERT INTO tenure.kept AS k (job, fence, bytes, steps)
    SELECT job, fence, sum(size - had), count(*) FILTER (WHERE verdict = 'new') FROM written GROUP BY job, fence
    ON CONFLICT (job)
    DO UPDATE SET fence = excluded.fence, bytes = k.bytes + excluded.bytes, steps = k.steps + excluded.steps
),
unwaited AS (
    DELETE FROM tenure.wait USING written
     WHERE written.was = 'waiting' AND wait.job = written.job AND wait.step = written.name
),
-- An effect that was in doubt goes on: that is told, as far as the job may have notes.
doubtful AS MATERIALIZED (
    SELECT written.job, written.name, written.status,
           row_number() OVER (PARTITION BY written.job ORDER BY place) AS number
      FROM written WHERE was = 'intended' AND was_fence <> fence
),
counted AS (
    UPDATE tenure.job_state s
       SET n          = s.n + told.taken,
           mark       = greatest(tenure.mark(), s.mark),
           notes      = s.notes + told.taken,
           updated_at = told.at
      FROM (SELECT owned.id, owned.fence, owned.at,
                   least(count(*), :most_notes::integer - owned.notes)::integer AS taken
              FROM doubtful JOIN owned ON owned.id = doubtful.job
             GROUP BY owned.id, owned.fence, owned.at, owned.notes) told
     WHERE s.id = told.id AND s.lease = told.fence AND told.taken > 0
    RETURNING s.id, s.n - told.taken AS n, s.mark, s.state, s.attempt, s.fence, told.at, told.taken
),
announced AS (
    INSERT INTO tenure.event (job, n, type, source, target, attempt, fence, at, actor, payload, mark)
    SELECT id, n + number, :note::text, state, state, attempt, fence, at, :worker::text,
           json_build_object('step', name, 'status', status)::text, mark
      FROM counted JOIN doubtful ON doubtful.job = counted.id
     WHERE number <= taken
)
SELECT given.place,
       CASE WHEN known.id IS NULL             THEN 'lost'
            WHEN judged.place IS NULL         THEN 'locked'
            WHEN judged.verdict = 'same'      THEN 'kept'
            WHEN judged.verdict = 'differs'   THEN 'differs'
            WHEN fitting.place IS NULL        THEN 'full'
            WHEN written.place IS NULL        THEN 'locked'
            ELSE 'kept'
       END AS keeping
  FROM given
  LEFT JOIN known ON known.id = given.job AND known.fence = given.fence
  LEFT JOIN judged ON judged.place = given.place
  LEFT JOIN fitting ON fitting.place = given.place
  LEFT JOIN written ON written.place = given.place
 ORDER BY given.place;
