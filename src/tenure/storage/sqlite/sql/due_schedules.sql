-- Schedules whose next tick is due, with the jobs of earlier ticks that have not ended, where they ask about those. Those
-- that this process cannot read are left to others.
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
   AND (namespace, name, created_at, revision)
       NOT IN (SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3 FROM json_each(:alone))
 ORDER BY next_at
 LIMIT :limit;
