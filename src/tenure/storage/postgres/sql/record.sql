-- Append what attempts have said: log lines, and notes, which are events but no steps.
-- It counts only while the lease holds, and prolongs nothing. Answers with the jobs still owned. A line that is there
-- already was sent before, by a worker that did not hear the answer.
WITH
given AS MATERIALIZED (
    SELECT * FROM unnest(:jobs::uuid[], :fences::bigint[], :notes::text[]) AS given (job, fence, notes)
),
held AS MATERIALIZED (
    SELECT id FROM tenure.lease
     WHERE id = ANY (:held::bigint[]) AND owner = :worker::text AND expires_at > tenure.now()
),
-- Locked for the lines alone too: else pruning could pass by in between and leave them behind for ever.
owned AS MATERIALIZED (
    SELECT s.id, s.fence, s.state, s.attempt, given.notes, greatest(tenure.now(), s.updated_at) AS at,
           coalesce(json_array_length(given.notes::json), 0) AS asked,
           least(coalesce(json_array_length(given.notes::json), 0), :most::integer - s.notes) AS taken
      FROM given
      JOIN tenure.job_state s ON s.id = given.job AND s.lease = given.fence
     WHERE given.fence IN (SELECT id FROM held)
     ORDER BY s.id
       FOR UPDATE OF s
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
SELECT id AS job, fence, taken < asked AS is_full FROM owned;
