-- Schedules that nothing fires although they are due, those whose last tick failed or found no room, and, while a worker
-- is alive, those from code that no live one has in its code; not paused ones.
SELECT *
  FROM (SELECT namespace, name, definition, next_at AS due_at, NULL AS failed_at, NULL AS problem, 0 AS is_forgotten
          FROM tenure_schedule
         WHERE next_at < :now - 60000000 AND paused_at IS NULL
         ORDER BY next_at
         LIMIT :limit)
UNION ALL
SELECT *
  FROM (SELECT schedule.namespace, schedule.name, schedule.definition, NULL AS due_at, tick.at AS failed_at, tick.problem, 0
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
         LIMIT :limit)
UNION ALL
SELECT *
  FROM (SELECT namespace, name, definition, NULL, NULL, NULL, 1
          FROM tenure_schedule schedule
         WHERE source = 'code' AND paused_at IS NULL AND next_at IS NOT NULL
           AND EXISTS (SELECT 1 FROM tenure_worker WHERE seen_at > :now - :alive)
           AND NOT EXISTS (SELECT 1 FROM tenure_announced announced
                            WHERE announced.namespace = schedule.namespace AND announced.schedule = schedule.name
                              AND (announced.at > :now - :alive
                                   OR EXISTS (SELECT 1 FROM tenure_worker worker
                                               WHERE worker.id = announced.worker AND worker.seen_at > :now - :alive)))
         ORDER BY namespace, name
         LIMIT :limit);
