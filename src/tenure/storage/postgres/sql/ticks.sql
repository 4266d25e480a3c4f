-- The ticks of a schedule, newest first, from before a place on, with the states and times of their jobs.
SELECT tick.*, s.state::text AS state, s.started_at, s.finished_at
  FROM tenure.tick
  LEFT JOIN tenure.job_state s ON s.id = tick.job
 WHERE tick.namespace = :namespace::text AND tick.schedule = :name::text
   AND (:before::timestamptz IS NULL
         OR (tick.at, tick.is_by_hand) < (:before::timestamptz, :before_by_hand::boolean))
 ORDER BY tick.at DESC, tick.is_by_hand DESC
 LIMIT :limit::integer;
