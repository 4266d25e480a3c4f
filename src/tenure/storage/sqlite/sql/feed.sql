-- Events of all jobs behind a position, by mark. There is one writer at a time, so marks are in the order of commits,
-- and a reader that goes on from the last one misses nothing. The job row is the record of creation: its event is made from
-- it, as in `events`.

-- part: standing
-- Whether the reader stands where this file has never been, or had been only before it was restored.
SELECT :mark > (SELECT n FROM tenure_sequence WHERE name = 'mark')
       OR EXISTS (SELECT 1 FROM tenure_restore WHERE kept < :mark AND :mark < resumed) AS is_gone;

-- part: entries
WITH following (mark, job, n) AS MATERIALIZED (
    SELECT * FROM (
        SELECT * FROM (
            SELECT mark, job, event.n
              FROM tenure_event event
             CROSS JOIN tenure_job_state s ON s.id = event.job
                   AND (event.n <= s.n   -- what was not counted is no event
                        OR s.finished_at IS NOT NULL AND event.source = s.state AND event.target = s.state)   -- but a note
             WHERE (mark, job, event.n) > (:mark, :job, :n)
             ORDER BY mark, job, event.n
             LIMIT :limit)
         UNION ALL
        SELECT * FROM (
            SELECT mark, id, 1 FROM tenure_job
             WHERE (mark, id) >= (:mark, :job) AND (mark, id, 1) > (:mark, :job, :n)
             ORDER BY mark, id
             LIMIT :limit))
     ORDER BY mark, job, n
     LIMIT :limit
)
SELECT following.mark, following.job, following.n, line.queue, line.definition, line.version, job.namespace,
       coalesce(event.type, second.source, s.state) AS type, event.source,
       coalesce(event.target, second.source, s.state) AS target, coalesce(event.attempt, 0) AS attempt,
       coalesce(event.fence, 0) AS fence, coalesce(event.at, job.created_at) AS at,
       coalesce(event.actor, 'api') AS actor, event.reason, event.payload
  FROM following
 CROSS JOIN tenure_job job ON job.id = following.job
 CROSS JOIN tenure_line line ON line.id = job.line
 CROSS JOIN tenure_job_state s ON s.id = following.job
  LEFT JOIN tenure_event event ON event.job = following.job AND event.n = following.n
  LEFT JOIN tenure_event second ON second.job = following.job AND second.n = 2 AND following.n = 1
 ORDER BY following.mark, following.job, following.n;
