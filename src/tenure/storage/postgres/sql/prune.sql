-- Remove finished jobs whose time is over, with all that belongs to them: nothing else deletes. The guards let it
-- through while the setting stands, which ends with this statement's transaction. What somebody has locked stays.
WITH
permitted AS MATERIALIZED (
    SELECT set_config('tenure.pruning', 'on', true)
),
looked_at AS MATERIALIZED (
    SELECT id FROM tenure.job WHERE id >= :first::uuid ORDER BY id LIMIT :limit::integer
),
over AS MATERIALIZED (
    SELECT s.id, s.line, s.state
      FROM permitted
     CROSS JOIN looked_at
      JOIN tenure.job_state s ON s.id = looked_at.id
      JOIN tenure.job ON job.id = s.id
     WHERE s.state IN ('succeeded', 'failed', 'cancelled', 'buried')
       AND s.finished_at <= tenure.now()
                            - CASE WHEN s.state = 'succeeded' THEN :succeeded::interval ELSE :others::interval END
       AND (job.key IS NULL OR s.finished_at <= tenure.now() - :keyed::interval)
     ORDER BY s.id
       FOR UPDATE OF s SKIP LOCKED
),
states AS (DELETE FROM tenure.job_state USING over WHERE job_state.id = over.id),
jobs AS (DELETE FROM tenure.job USING over WHERE job.id = over.id),
events AS (DELETE FROM tenure.event USING over WHERE event.job = over.id),
attempts AS (DELETE FROM tenure.attempt USING over WHERE attempt.job = over.id),
results AS (DELETE FROM tenure.result USING over WHERE result.job = over.id),
tags AS (
    DELETE FROM tenure.tag USING over JOIN tenure.job ON job.id = over.id
     CROSS JOIN LATERAL json_array_elements_text(job.tags::json) AS named
     WHERE tag.name = named AND tag.job = over.id
),
shelves AS (DELETE FROM tenure.finished USING over WHERE finished.state = over.state AND finished.job = over.id),
tallied AS (
    INSERT INTO tenure.tally (line, state, n) SELECT line, state, -count(*) FROM over GROUP BY line, state
)
SELECT (SELECT count(*) FROM over) AS jobs,
       CASE WHEN count(*) = :limit::integer THEN (array_agg(id ORDER BY id DESC))[1] END AS next
  FROM looked_at;
