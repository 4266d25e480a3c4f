-- The minutes on record; the row without one says how many jobs have ended until now.
SELECT NULL AS minute_at, :now AS at, NULL AS waits, NULL AS runs, json_group_object(state, n) AS ended
  FROM (SELECT state, sum(n) AS n FROM tenure_tally
         WHERE state IN ('succeeded', 'failed', 'cancelled', 'buried') GROUP BY state)
 UNION ALL
SELECT minute_at, NULL, waits, runs, ended FROM tenure_pace WHERE minute_at >= :now - :since
 ORDER BY minute_at NULLS FIRST;
