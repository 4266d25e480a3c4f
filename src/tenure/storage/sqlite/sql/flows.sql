-- How much passed through each queue lately, as far as the last jobs and the last events tell. The row without a queue
-- says since when all is here.
WITH
stepped (job, n, source, target, at) AS MATERIALIZED (
    SELECT job, n, source, target, at FROM tenure_event WHERE mark > 0 ORDER BY mark DESC, job DESC, n DESC LIMIT :limit
),
born (line, at) AS MATERIALIZED (
    SELECT line, created_at FROM tenure_job WHERE mark > 0 ORDER BY mark DESC, id DESC LIMIT :limit
),
known (born_at, stepped_at) AS MATERIALIZED (
    SELECT max(:now - :lately, coalesce((SELECT CASE WHEN count(*) = :limit THEN min(at) END FROM born), 0)),
           max(:now - :lately, coalesce((SELECT CASE WHEN count(*) = :limit THEN min(at) END FROM stepped), 0))
),
passed (line, enqueued, started, finished) AS (
    SELECT born.line, 1, 0, 0
      FROM known CROSS JOIN born WHERE born.at >= known.born_at
     UNION ALL
    SELECT s.line, 0, stepped.target = 'running', stepped.target <> 'running'
      FROM known CROSS JOIN stepped CROSS JOIN tenure_job_state s ON s.id = stepped.job
     WHERE stepped.at >= known.stepped_at
       AND stepped.target IN ('running', 'succeeded', 'failed', 'cancelled', 'buried') AND stepped.source <> stepped.target
       AND stepped.n <= s.n   -- what was not counted is no event
)
SELECT NULL AS queue, :now AS at, born_at, stepped_at, NULL AS enqueued, NULL AS started, NULL AS finished FROM known
 UNION ALL
SELECT line.queue, NULL, NULL, NULL, sum(total.enqueued), sum(total.started), sum(total.finished)
  FROM (SELECT line, sum(enqueued) AS enqueued, sum(started) AS started, sum(finished) AS finished
          FROM passed GROUP BY line) total
 CROSS JOIN tenure_line line ON line.id = total.line
 GROUP BY line.queue;
