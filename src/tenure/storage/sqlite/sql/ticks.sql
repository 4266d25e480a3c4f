-- The ticks of a schedule, newest first, from before a place on, with the states and times of their jobs.
SELECT tick.*, s.state, s.started_at, s.finished_at
  FROM tenure_tick tick
  LEFT JOIN tenure_job_state s ON s.id = tick.job
 WHERE tick.namespace = :namespace AND tick.schedule = :name
   AND (:before IS NULL OR (tick.at, tick.is_by_hand) < (:before, :before_by_hand))
 ORDER BY tick.at DESC, tick.is_by_hand DESC
 LIMIT :limit;
