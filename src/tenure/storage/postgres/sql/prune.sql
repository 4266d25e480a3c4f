-- Remove finished jobs whose time is over, with all that belongs to them: nothing else deletes. The guards let it
-- through while the setting stands, which ends with this statement's transaction. What another transaction has locked stays.
WITH RECURSIVE
permitted AS MATERIALIZED (
    SELECT set_config('tenure.pruning', 'on', true)
),
looked_at AS MATERIALIZED (
    SELECT *
      FROM (SELECT id, line, key, tags, CASE WHEN scope = '(child)' THEN parent END AS asked_by
              FROM tenure.job
             WHERE :jobs::uuid[] IS NULL AND id >= :first::uuid AND id <= :last::uuid ORDER BY id LIMIT :limit::integer) walked
     UNION ALL
    SELECT named.*
      FROM unnest(:jobs::uuid[]) AS asked (id)
     CROSS JOIN LATERAL (SELECT id, line, key, tags, CASE WHEN scope = '(child)' THEN parent END
                           FROM tenure.job WHERE job.id = asked.id LIMIT 1) named
),
-- How long the jobs of each line are kept: looked up once a line, not once a job, and by the definition's name, so that
-- neither a definition with many lines nor many definitions with times of their own make it slower.
kept AS MATERIALIZED (
    SELECT line.id, line.definition, coalesce(own.succeeded, :succeeded::interval) AS succeeded,
           coalesce(own.others, :others::interval) AS others, coalesce(own.keyed, :keyed::interval) AS keyed
      FROM (SELECT DISTINCT line FROM looked_at) seen
     CROSS JOIN LATERAL (SELECT id, definition FROM tenure.line WHERE line.id = seen.line LIMIT 1) line
      LEFT JOIN unnest(:own_of::text[], :own_succeeded::interval[], :own_others::interval[], :own_keyed::interval[])
                AS own (definition, succeeded, others, keyed) ON own.definition = line.definition
     WHERE :definition::text IS NULL OR line.definition = :definition::text
),
untold AS MATERIALIZED (
    SELECT mark, job, n FROM tenure.cursor WHERE held_at > tenure.now() - interval '1 day' ORDER BY mark, job, n LIMIT 1
),
-- Everything is looked up by what was found before it, one by one: a planner that takes a batch for much of the table
-- would rather walk all of history beside it.
found AS MATERIALIZED (
    SELECT s.id, s.line, s.rank, s.seq, s.state, looked_at.tags, kept.definition
      FROM permitted
     CROSS JOIN looked_at
      JOIN kept ON kept.id = looked_at.line
     CROSS JOIN LATERAL (
               SELECT s.id, s.line, s.rank, s.seq, s.state
                 FROM tenure.job_state s
                WHERE s.id = looked_at.id
                  AND s.state IN ('succeeded', 'failed', 'cancelled', 'buried')
                  AND s.state = ANY (:states::tenure.state[])
                  AND s.finished_at <= tenure.now() - CASE WHEN s.state = 'succeeded' THEN kept.succeeded ELSE kept.others END
                  AND (looked_at.key IS NULL OR looked_at.asked_by IS NOT NULL
                       OR s.finished_at <= tenure.now() - kept.keyed)
                  AND (:ended_before::timestamptz IS NULL OR s.finished_at < :ended_before::timestamptz)
                  -- Whether its effect has happened is still to be said.
                  AND NOT EXISTS (SELECT FROM tenure.step WHERE step.job = looked_at.id AND step.status = 'intended')
                  -- The next attempt of its parent will ask for it again. A parent that has finished stays so.
                  AND NOT EXISTS (SELECT 1 FROM tenure.job_state parent
                                   WHERE parent.id = looked_at.asked_by
                                     AND parent.state NOT IN ('succeeded', 'failed', 'cancelled', 'buried'))
                  -- What a cursor has not passed is still to be told, unless nobody moves that cursor.
                  AND NOT EXISTS (SELECT FROM untold
                                   WHERE (s.mark, s.id, s.n) > (untold.mark, untold.job, untold.n)
                                     AND s.finished_at > tenure.now() - interval '7 days'
                                                         - CASE WHEN s.state = 'succeeded' THEN kept.succeeded
                                                                ELSE kept.others END)
                  FOR UPDATE SKIP LOCKED
           ) s
),
-- A dry run is this same statement: it cannot count what the next one would not remove.
over AS MATERIALIZED (SELECT * FROM found WHERE NOT :dry::boolean),
states AS (DELETE FROM tenure.job_state WHERE id = ANY (ARRAY(SELECT id FROM over))),
jobs AS (DELETE FROM tenure.job WHERE id = ANY (ARRAY(SELECT id FROM over))),
events AS (DELETE FROM tenure.event WHERE job = ANY (ARRAY(SELECT id FROM over))),
attempts AS (DELETE FROM tenure.attempt WHERE job = ANY (ARRAY(SELECT id FROM over))),
lines AS (DELETE FROM tenure.log WHERE job = ANY (ARRAY(SELECT id FROM over))),
results AS (DELETE FROM tenure.result WHERE job = ANY (ARRAY(SELECT id FROM over))),
-- Most jobs have kept nothing, and one look-up says so: who has steps, or has waited, is counted there.
stepped AS (DELETE FROM tenure.kept WHERE job = ANY (ARRAY(SELECT id FROM over)) RETURNING job),
steps AS (DELETE FROM tenure.step WHERE job = ANY (ARRAY(SELECT job FROM stepped))),
waits AS (DELETE FROM tenure.wait WHERE job = ANY (ARRAY(SELECT job FROM stepped))),
checkpoints AS (DELETE FROM tenure.checkpoint WHERE job = ANY (ARRAY(SELECT id FROM over))),
signals AS (DELETE FROM tenure.signal WHERE job = ANY (ARRAY(SELECT id FROM over))),
tags AS (
    DELETE FROM tenure.tag
     WHERE ctid = ANY (ARRAY(
               SELECT carried.tid
                 FROM over
                CROSS JOIN LATERAL json_array_elements_text(over.tags::json) AS named
                CROSS JOIN LATERAL (SELECT tag.ctid AS tid FROM tenure.tag
                                     WHERE tag.name = named AND tag.job = over.id LIMIT 1) carried))
),
shelves AS (
    DELETE FROM tenure.finished
     WHERE ctid = ANY (ARRAY(
               SELECT shelf.tid
                 FROM over
                CROSS JOIN LATERAL (SELECT finished.ctid AS tid FROM tenure.finished
                                     WHERE finished.state = over.state AND finished.job = over.id LIMIT 1) shelf))
),
aftermath AS (
    DELETE FROM tenure.aftermath
     WHERE ctid = ANY (ARRAY(
               SELECT owed.tid
                 FROM over
                CROSS JOIN LATERAL (SELECT * FROM tenure.line WHERE line.id = over.line LIMIT 1) line
                CROSS JOIN LATERAL (SELECT ended.ctid AS tid FROM tenure.aftermath ended
                                     WHERE ended.queue = line.queue AND ended.definition = line.definition
                                       AND ended.version = line.version AND ended.job = over.id LIMIT 1) owed))
),
-- Two verbs that met may have left a place in line or a timer behind, which nothing else would ever find.
places AS (
    DELETE FROM tenure.ready
     WHERE ctid = ANY (ARRAY(
               SELECT place.tid
                 FROM over
                CROSS JOIN LATERAL (SELECT ready.ctid AS tid FROM tenure.ready
                                     WHERE ready.line = over.line AND ready.rank = over.rank AND ready.seq = over.seq
                                     LIMIT 1) place))
),
asides AS (DELETE FROM tenure.aside WHERE job = ANY (ARRAY(SELECT id FROM over))),
-- Whatever kinds of timers there are, those of newer versions too: hops from one to the next.
kinds (kind) AS (
    (SELECT kind FROM tenure.timer WHERE kind > '' ORDER BY kind LIMIT 1)
    UNION ALL
    SELECT (SELECT timer.kind FROM tenure.timer WHERE timer.kind > kinds.kind ORDER BY timer.kind LIMIT 1)
      FROM kinds WHERE kinds.kind IS NOT NULL
),
timers AS (
    DELETE FROM tenure.timer
     WHERE kind = ANY (ARRAY(SELECT kind FROM kinds)) AND job = ANY (ARRAY(SELECT id FROM over))
),
tallied AS (
    INSERT INTO tenure.tally (line, state, n)
    SELECT line, state, -count(*) FROM over GROUP BY line, state
     UNION ALL
    SELECT 0, state, count(*) FROM over GROUP BY state
)
SELECT (SELECT count(*) FROM found) AS jobs,
       (SELECT json_agg(json_build_array(definition, state, n))::text
          FROM (SELECT definition, state, count(*) AS n FROM found GROUP BY definition, state) counted) AS counts,
       CASE WHEN :jobs::uuid[] IS NULL AND count(*) = :limit::integer THEN (array_agg(id ORDER BY id DESC))[1] END AS next
  FROM looked_at;
