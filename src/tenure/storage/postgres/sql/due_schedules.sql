-- Schedules whose next tick is due, with the jobs of earlier ticks that have not ended, where they ask about those.
SELECT schedule.*, tenure.now() AS now_at,
       ARRAY(SELECT tick.job
               FROM tenure.tick
               JOIN tenure.job_state s ON s.id = tick.job AND s.finished_at IS NULL
              WHERE tick.is_open AND tick.namespace = schedule.namespace AND tick.schedule = schedule.name
              ORDER BY tick.at
              LIMIT 100) AS open_jobs
  FROM tenure.schedule
 WHERE next_at <= tenure.now() AND paused_at IS NULL
 ORDER BY next_at
 LIMIT :limit::integer;
