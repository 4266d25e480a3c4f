-- Events behind a position that somebody waits for, and how far the feed was read for them: up to the last one of them if
-- there are enough, else up to the last one looked at, else to the end. What is not of a type that is wanted is read no
-- further than its row, and jobs are not read at all unless somebody waits for their creation. As in `feed`, nothing can be
-- added any more below the horizon, and where to begin is said once.
WITH
settled AS MATERIALIZED (
    SELECT tenure.horizon() AS horizon, least(tenure.horizon(), :until_mark::bigint + 1) AS bound,
           :mark::bigint >= tenure.horizon()
           OR EXISTS (SELECT FROM tenure.restore WHERE kept < :mark::bigint AND :mark::bigint < resumed) AS is_gone
),
looked_at AS MATERIALIZED (
    SELECT * FROM (
        (SELECT event.mark, event.job, event.n, event.type, event.source, event.target
           FROM tenure.event
          WHERE cardinality(:types::text[]) > 0
            AND event.mark < (SELECT bound FROM settled)
            AND (event.mark, event.job, event.n) > (:mark::bigint, :job::uuid, :n::integer)
          ORDER BY event.mark, event.job, event.n
          LIMIT :most::integer)
         UNION ALL
        (SELECT mark, id, 1, NULL, NULL, NULL
           FROM tenure.job
          WHERE :births::boolean
            AND mark < (SELECT bound FROM settled)
            AND (mark, id, 1) > (:mark::bigint, :job::uuid, :n::integer)
          ORDER BY mark, id
          LIMIT :most::integer)
    ) both_kinds
     ORDER BY mark, job, n
     LIMIT :most::integer
),
picked AS MATERIALIZED (
    SELECT mark, job, n, source, target
      FROM looked_at
     WHERE (n = 1 OR type = ANY (:types::text[]))
       AND (mark, job, n) <= (:until_mark::bigint, :until_job::uuid, :until_n::integer)
     ORDER BY mark, job, n
     LIMIT :limit::integer
),
reached AS MATERIALIZED (
    SELECT *
      FROM (
        (SELECT mark, job, n, false AS is_end FROM picked
          WHERE (SELECT count(*) FROM picked) = :limit::integer ORDER BY mark DESC, job DESC, n DESC LIMIT 1)
         UNION ALL
        (SELECT mark, job, n, false FROM looked_at
          WHERE (SELECT count(*) FROM looked_at) = :most::integer AND (SELECT count(*) FROM picked) < :limit::integer
            AND (SELECT bool_and((mark, job, n) <= (:until_mark::bigint, :until_job::uuid, :until_n::integer))
                   FROM looked_at)
          ORDER BY mark DESC, job DESC, n DESC LIMIT 1)
         UNION ALL
        (SELECT greatest(:mark::bigint,
                         (SELECT mark FROM tenure.event WHERE mark < (SELECT horizon FROM settled) ORDER BY mark DESC LIMIT 1),
                         (SELECT mark FROM tenure.job WHERE mark < (SELECT horizon FROM settled) ORDER BY mark DESC LIMIT 1)),
                'ffffffff-ffff-ffff-ffff-ffffffffffff', 2147483647, true)
      ) ways
     LIMIT 1
)
SELECT settled.is_gone, reached.mark AS reached_mark, reached.job AS reached_job, reached.n AS reached_n, reached.is_end,
       found.*
  FROM settled
 CROSS JOIN reached
  LEFT JOIN (
       SELECT picked.mark, picked.job, picked.n, line.queue, line.definition, line.version, job.namespace, job.tags,
              coalesce(event.type, born.state::text) AS type, event.source, coalesce(event.target, born.state) AS target,
              coalesce(event.attempt, 0) AS attempt, coalesce(event.fence, 0) AS fence,
              coalesce(event.at, job.created_at) AS at, coalesce(event.actor, 'api') AS actor, event.reason, event.payload
         FROM picked
        -- LIMIT keeps these look-ups: planned anew each time, as through a pooler, they would be joined with all there is.
        CROSS JOIN LATERAL (SELECT * FROM tenure.job WHERE job.id = picked.job LIMIT 1) job
        CROSS JOIN LATERAL (SELECT * FROM tenure.line WHERE line.id = job.line LIMIT 1) line
        CROSS JOIN LATERAL (SELECT * FROM tenure.job_state WHERE job_state.id = picked.job LIMIT 1) s
         LEFT JOIN LATERAL (SELECT * FROM tenure.event
                             WHERE event.job = picked.job AND event.n = picked.n LIMIT 1) event ON true
         LEFT JOIN LATERAL (
                   SELECT coalesce((SELECT second.source FROM tenure.event second
                                     WHERE second.job = picked.job AND second.n = 2), s.state) AS state
               ) born ON picked.n = 1
        WHERE (picked.n = 1 OR picked.n <= s.n   -- what was not counted is no event
               OR s.finished_at IS NOT NULL AND picked.source = s.state AND picked.target = s.state)   -- but a note
          AND (picked.n > 1 OR born.state::text = ANY (:types::text[]))
          AND (cardinality(:definitions::text[]) = 0 OR line.definition = ANY (:definitions::text[]))
          AND (cardinality(:namespaces::text[]) = 0 OR job.namespace = ANY (:namespaces::text[]))
       ) found ON NOT settled.is_gone
 ORDER BY found.mark, found.job, found.n;
