-- How jobs ended, as far as the last events tell. The row without a state says since when all that ended is here.
WITH
looked_at AS MATERIALIZED (
    SELECT job, n, source, target, at FROM tenure.event ORDER BY mark DESC LIMIT :limit::integer
)
SELECT NULL::tenure.state AS state, tenure.now() AS at, NULL::timestamptz AS queued_at,
       CASE WHEN count(*) = :limit::integer THEN min(at) END AS started_at, NULL::text AS definition
  FROM looked_at
 UNION ALL
SELECT looked_at.target, looked_at.at, s.queued_at, s.started_at, line.definition
  FROM looked_at
  -- LIMIT keeps this a look-up.
 CROSS JOIN LATERAL (SELECT n, line, queued_at, started_at FROM tenure.job_state WHERE job_state.id = looked_at.job LIMIT 1) s
  JOIN tenure.line ON line.id = s.line
 WHERE looked_at.target IN ('succeeded', 'failed', 'cancelled', 'buried') AND looked_at.source <> looked_at.target
   AND looked_at.n <= s.n   -- what was not counted is no event;
