-- Schedules that nothing fires although they are due, and those whose last tick failed or found no room; not paused ones.
SELECT *
  FROM (SELECT namespace, name, definition, next_at AS due_at, NULL AS failed_at, NULL AS problem
          FROM tenure_schedule
         WHERE next_at < :now - 60000000 AND paused_at IS NULL
         ORDER BY next_at
         LIMIT :limit)
UNION ALL
SELECT *
  FROM (SELECT schedule.namespace, schedule.name, schedule.definition, NULL AS due_at, tick.at AS failed_at, tick.problem
          FROM tenure_schedule schedule
         CROSS JOIN tenure_tick tick
            ON tick.namespace = schedule.namespace AND tick.schedule = schedule.name
           AND tick.at = (SELECT last.at FROM tenure_tick last
                           WHERE last.namespace = schedule.namespace AND last.schedule = schedule.name
                             AND last.outcome = schedule.last_outcome
                           ORDER BY last.at DESC
                           LIMIT 1)
         WHERE schedule.last_outcome IN ('failed', 'full') AND schedule.paused_at IS NULL
         ORDER BY schedule.namespace, schedule.name
         LIMIT :limit);
