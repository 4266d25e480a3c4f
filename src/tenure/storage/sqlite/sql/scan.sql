-- Events behind a position that somebody waits for, and how far the feed was read for them: up to the last one of them if
-- there are enough, else up to the last one looked at, else to the end. What is not of a type that is wanted is read no
-- further than its row, and jobs are not read at all unless somebody waits for their creation.
WITH
looked_at (mark, job, n, type, source, target) AS MATERIALIZED (
    SELECT * FROM (
        SELECT * FROM (
            SELECT event.mark, event.job, event.n, event.type, event.source, event.target
              FROM tenure_event event
             WHERE :types <> '[]' AND (mark, job, n) > (:mark, :job, :n) AND mark <= :until_mark
             ORDER BY mark, job, n
             LIMIT :most)
         UNION ALL
        SELECT * FROM (
            SELECT mark, id, 1, NULL, NULL, NULL
              FROM tenure_job
             WHERE :births AND (mark, id) >= (:mark, :job) AND (mark, id, 1) > (:mark, :job, :n) AND mark <= :until_mark
             ORDER BY mark, id
             LIMIT :most))
     ORDER BY mark, job, n
     LIMIT :most
),
picked (mark, job, n, source, target) AS MATERIALIZED (
    SELECT mark, job, n, source, target
      FROM looked_at
     WHERE (n = 1 OR type IN (SELECT value FROM json_each(:types)))
       AND (mark, job, n) <= (:until_mark, :until_job, :until_n)
     ORDER BY mark, job, n
     LIMIT :limit
),
latest (mark, job, n) AS MATERIALIZED (
    SELECT mark, job, n FROM looked_at ORDER BY mark DESC, job DESC, n DESC LIMIT 1
),
reached (mark, job, n, is_end) AS MATERIALIZED (
    SELECT * FROM (
        SELECT * FROM (SELECT mark, job, n, 0 FROM picked
                        WHERE (SELECT count(*) FROM picked) = :limit ORDER BY mark DESC, job DESC, n DESC LIMIT 1)
         UNION ALL
        SELECT mark, job, n, 0
          FROM latest
         WHERE (SELECT count(*) FROM looked_at) = :most AND (SELECT count(*) FROM picked) < :limit
           AND (mark, job, n) <= (:until_mark, :until_job, :until_n)
         UNION ALL
        -- The end is behind the last event, and does not move with what others write: nobody has to note that.
        SELECT max(:mark, coalesce((SELECT max(mark) FROM tenure_event), 0),
                   coalesce((SELECT max(mark) FROM tenure_job), 0)),
               'ffffffff-ffff-ffff-ffff-ffffffffffff', 2147483647, 1)
     LIMIT 1
),
standing (is_gone) AS MATERIALIZED (
    SELECT :mark > (SELECT n FROM tenure_sequence WHERE name = 'mark')
           OR EXISTS (SELECT 1 FROM tenure_restore WHERE kept < :mark AND :mark < resumed)
),
found AS MATERIALIZED (
    SELECT picked.mark, picked.job, picked.n, line.queue, line.definition, line.version, job.namespace, job.tags,
           coalesce(event.type, second.source, s.state) AS type, event.source,
           coalesce(event.target, second.source, s.state) AS target, coalesce(event.attempt, 0) AS attempt,
           coalesce(event.fence, 0) AS fence, coalesce(event.at, job.created_at) AS at,
           coalesce(event.actor, 'api') AS actor, event.reason, event.payload
      FROM picked
     CROSS JOIN tenure_job job ON job.id = picked.job
     CROSS JOIN tenure_line line ON line.id = job.line
     CROSS JOIN tenure_job_state s ON s.id = picked.job
      LEFT JOIN tenure_event event ON event.job = picked.job AND event.n = picked.n
      LEFT JOIN tenure_event second ON second.job = picked.job AND second.n = 2 AND picked.n = 1
     WHERE (picked.n = 1 OR picked.n <= s.n   -- what was not counted is no event
            OR s.finished_at IS NOT NULL AND picked.source = s.state AND picked.target = s.state)   -- but a note
       AND (picked.n > 1 OR coalesce(second.source, s.state) IN (SELECT value FROM json_each(:types)))
       AND (:definitions = '[]' OR line.definition IN (SELECT value FROM json_each(:definitions)))
       AND (:namespaces = '[]' OR job.namespace IN (SELECT value FROM json_each(:namespaces)))
)
SELECT standing.is_gone, reached.mark AS reached_mark, reached.job AS reached_job, reached.n AS reached_n, reached.is_end,
       found.*
  FROM standing
 CROSS JOIN reached
  LEFT JOIN found ON NOT standing.is_gone
 ORDER BY found.mark, found.job, found.n;
