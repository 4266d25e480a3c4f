-- The minutes on record; the row without one says how many jobs have ended until now.
SELECT NULL::timestamptz AS minute_at, tenure.now() AS at, NULL AS waits, NULL AS runs,
       coalesce(json_object_agg(state, n), '{}')::text AS ended
  FROM (SELECT state, sum(n) AS n FROM tenure.tally
         WHERE state IN ('succeeded', 'failed', 'cancelled', 'buried') GROUP BY state) total
 UNION ALL
SELECT minute_at, NULL, waits, runs, ended FROM tenure.pace WHERE minute_at >= tenure.now() - :since::interval
 ORDER BY minute_at NULLS FIRST;
