-- Schedules whose next tick is due, with the jobs of earlier ticks that have not ended, where they ask about those.
SELECT schedule.*, :now AS now_at,
       (SELECT json_group_array(job)
          FROM (SELECT tick.job
                  FROM tenure_tick tick
                 CROSS JOIN tenure_job_state s ON s.id = tick.job AND s.finished_at IS NULL
                 WHERE tick.is_open = 1 AND tick.namespace = schedule.namespace AND tick.schedule = schedule.name
                 ORDER BY tick.at
                 LIMIT 100)) AS open_jobs
  FROM tenure_schedule schedule
 WHERE next_at <= :now AND paused_at IS NULL
 ORDER BY next_at
 LIMIT :limit;
