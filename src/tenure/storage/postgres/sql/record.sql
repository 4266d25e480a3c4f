-- Append what attempts have said: log lines, and notes, which are events but no steps.
-- It counts only while the lease holds, and prolongs nothing. Answers with the jobs still owned. A line that is there
-- already was sent before, by a worker that did not hear the answer. A job whose row another transaction has locked is
-- passed over where several come together: nobody waits for the transaction of another one's handler.

-- part: lock
SELECT id FROM tenure.job_state WHERE id = :job::uuid FOR UPDATE;

-- part: write
WITH
given AS MATERIALIZED (
    SELECT * FROM unnest(:jobs::uuid[], :fences::bigint[], :notes::text[]) AS given (job, fence, notes)
),
held AS MATERIALIZED (
    SELECT id FROM tenure.lease
     WHERE id = ANY (:held::bigint[]) AND owner = :worker::text AND expires_at > tenure.now()
),
known AS MATERIALIZED (
    SELECT given.*
      FROM given
     CROSS JOIN LATERAL (SELECT FROM tenure.job_state
                          WHERE job_state.id = given.job AND job_state.lease = given.fence LIMIT 1) s
     WHERE given.fence IN (SELECT id FROM held)
),
-- Locked for the lines alone too: else pruning could pass by in between and leave them behind for ever.
owned AS MATERIALIZED (
    SELECT s.id, s.fence, s.state, s.attempt, known.notes, greatest(tenure.now(), s.updated_at) AS at,
           coalesce(json_array_length(known.notes::json), 0) AS asked,
           least(coalesce(json_array_length(known.notes::json), 0), :most::integer - s.notes) AS taken
      FROM known
      JOIN tenure.job_state s ON s.id = known.job AND s.lease = known.fence
     ORDER BY s.id
       FOR UPDATE OF s SKIP LOCKED
),
counted AS (
    UPDATE tenure.job_state s
       SET n          = s.n + owned.taken,
           mark       = greatest(tenure.mark(), s.mark),
           notes      = s.notes + owned.taken,
           updated_at = owned.at
      FROM owned
     WHERE s.id = owned.id AND s.lease = owned.fence AND owned.taken > 0
    RETURNING s.id, s.n - owned.taken AS n, s.mark, s.state, s.attempt, s.fence, owned.at, owned.notes, owned.taken
),
announced AS (
    INSERT INTO tenure.event (job, n, type, source, target, attempt, fence, at, actor, payload, mark)
    SELECT id, n + place, said ->> 0, state, state, attempt, fence, at, :worker::text, said ->> 1, mark
      FROM counted
     CROSS JOIN LATERAL json_array_elements(notes::json) WITH ORDINALITY AS note (said, place)
     WHERE place <= taken
),
written AS (
    INSERT INTO tenure.log (job, fence, n, at, level, text, fields)
    SELECT line.*
      FROM unnest(:line_jobs::uuid[], :line_fences::bigint[], :ns::integer[], :ats::timestamptz[], :levels::text[],
                  :texts::text[], :fields::text[]) AS line (job, fence, n, at, level, text, fields)
     WHERE ((job, fence) IN (SELECT id, fence FROM owned)) IS TRUE   -- IS TRUE keeps this a look-up in a hash
    ON CONFLICT DO NOTHING
)
SELECT known.job, known.fence, coalesce(owned.taken < owned.asked, false) AS is_full, owned.id IS NULL AS is_locked
  FROM known
  LEFT JOIN owned ON owned.id = known.job AND owned.fence = known.fence;
