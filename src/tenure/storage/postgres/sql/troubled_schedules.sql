-- Schedules that nothing fires although they are due, and those whose last tick failed or found no room; not paused ones.
(SELECT namespace, name, definition, next_at AS due_at, NULL::timestamptz AS failed_at, NULL::text AS problem
   FROM tenure.schedule
  WHERE next_at < tenure.now() - interval '1 minute' AND paused_at IS NULL
  ORDER BY next_at
  LIMIT :limit::integer)
UNION ALL
(SELECT schedule.namespace, schedule.name, schedule.definition, NULL, failed.at, failed.problem
   FROM tenure.schedule
  CROSS JOIN LATERAL (SELECT at, problem FROM tenure.tick
                       WHERE tick.namespace = schedule.namespace AND tick.schedule = schedule.name
                         AND tick.outcome = schedule.last_outcome
                       ORDER BY at DESC
                       LIMIT 1) failed
  WHERE schedule.last_outcome IN ('failed', 'full') AND schedule.paused_at IS NULL
  ORDER BY schedule.namespace, schedule.name
  LIMIT :limit::integer);
