-- Schedules that nothing fires although they are due, those whose last tick failed or found no room, and, while a worker
-- is alive, those from code that no live one has in its code; not paused ones.
(SELECT namespace, name, definition, next_at AS due_at, NULL::timestamptz AS failed_at, NULL::text AS problem,
        false AS is_forgotten
   FROM tenure.schedule
  WHERE next_at < tenure.now() - interval '1 minute' AND paused_at IS NULL
  ORDER BY next_at
  LIMIT :limit::integer)
UNION ALL
(SELECT schedule.namespace, schedule.name, schedule.definition, NULL, failed.at, failed.problem, false
   FROM tenure.schedule
  CROSS JOIN LATERAL (SELECT at, problem FROM tenure.tick
                       WHERE tick.namespace = schedule.namespace AND tick.schedule = schedule.name
                         AND tick.outcome = schedule.last_outcome
                       ORDER BY at DESC
                       LIMIT 1) failed
  WHERE schedule.last_outcome IN ('failed', 'full') AND schedule.paused_at IS NULL
  ORDER BY schedule.namespace, schedule.name
  LIMIT :limit::integer)
UNION ALL
(SELECT namespace, name, definition, NULL, NULL, NULL, true
   FROM tenure.schedule
  WHERE source = 'code' AND paused_at IS NULL AND next_at IS NOT NULL
    AND EXISTS (SELECT FROM tenure.worker WHERE seen_at > tenure.now() - :alive::interval)
    AND NOT EXISTS (SELECT FROM tenure.announced
                     WHERE announced.namespace = schedule.namespace AND announced.schedule = schedule.name
                       AND (announced.at > tenure.now() - :alive::interval
                            OR EXISTS (SELECT FROM tenure.worker
                                        WHERE worker.id = announced.worker
                                          AND worker.seen_at > tenure.now() - :alive::interval)))
  ORDER BY namespace, name
  LIMIT :limit::integer);
