-- The ticks of a schedule, newest first, from before a moment on.
SELECT tick.*, s.state::text AS state
  FROM tenure.tick
  LEFT JOIN tenure.job_state s ON s.id = tick.job
 WHERE tick.namespace = :namespace::text AND tick.schedule = :name::text
   AND (:before::timestamptz IS NULL OR tick.at < :before::timestamptz)
 ORDER BY tick.at DESC
 LIMIT :limit::integer;
