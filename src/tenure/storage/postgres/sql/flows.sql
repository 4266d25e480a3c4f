-- How much passed through each queue lately, as far as the last jobs and the last events tell. The row without a queue
-- says since when all is here.
WITH
stepped AS MATERIALIZED (
    SELECT job, n, source, target, at FROM tenure.event ORDER BY mark DESC LIMIT :limit::integer
),
born AS MATERIALIZED (
    SELECT line, created_at AS at FROM tenure.job ORDER BY mark DESC LIMIT :limit::integer
),
known AS MATERIALIZED (
    SELECT tenure.now() AS at,
           greatest(tenure.now() - :lately::interval,
                    (SELECT CASE WHEN count(*) = :limit::integer THEN min(at) END FROM born)) AS born_at,
           greatest(tenure.now() - :lately::interval,
                    (SELECT CASE WHEN count(*) = :limit::integer THEN min(at) END FROM stepped)) AS stepped_at
),
passed AS (
    SELECT born.line, 1 AS enqueued, 0 AS started, 0 AS finished
      FROM born, known WHERE born.at >= known.born_at
     UNION ALL
    SELECT s.line, 0, (stepped.target = 'running')::integer, (stepped.target <> 'running')::integer
      FROM known, stepped
      -- LIMIT keeps this a look-up.
     CROSS JOIN LATERAL (SELECT line, n FROM tenure.job_state WHERE job_state.id = stepped.job LIMIT 1) s
     WHERE stepped.at >= known.stepped_at
       AND stepped.target IN ('running', 'succeeded', 'failed', 'cancelled', 'buried') AND stepped.source <> stepped.target
       AND stepped.n <= s.n   -- what was not counted is no event
)
SELECT NULL AS queue, at, born_at, stepped_at, NULL::bigint AS enqueued, NULL::bigint AS started, NULL::bigint AS finished
  FROM known
 UNION ALL
SELECT line.queue, NULL, NULL, NULL, sum(total.enqueued)::bigint, sum(total.started)::bigint, sum(total.finished)::bigint
  FROM (SELECT line, sum(enqueued) AS enqueued, sum(started) AS started, sum(finished) AS finished
          FROM passed GROUP BY line) total
 CROSS JOIN LATERAL (SELECT queue FROM tenure.line WHERE line.id = total.line LIMIT 1) line
 GROUP BY line.queue;
