-- How jobs ended, as far as the last events tell. The row without a state says since when all that ended is here.
WITH looked_at (job, n, source, target, at) AS MATERIALIZED (
    SELECT job, n, source, target, at FROM tenure_event WHERE mark > 0 ORDER BY mark DESC, job DESC, n DESC LIMIT :limit
)
SELECT NULL AS state, :now AS at, NULL AS queued_at, CASE WHEN count(*) = :limit THEN min(at) END AS started_at,
       NULL AS definition
  FROM looked_at
 UNION ALL
SELECT looked_at.target, looked_at.at, s.queued_at, s.started_at, line.definition
  FROM looked_at CROSS JOIN tenure_job_state s ON s.id = looked_at.job
 CROSS JOIN tenure_line line ON line.id = s.line
 WHERE looked_at.target IN ('succeeded', 'failed', 'cancelled', 'buried') AND looked_at.source <> looked_at.target
   AND looked_at.n <= s.n;   -- what was not counted is no event
