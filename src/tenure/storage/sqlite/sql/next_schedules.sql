-- The schedules that fire next, by the index that the duty uses.
SELECT *
  FROM tenure_schedule
 WHERE next_at IS NOT NULL AND paused_at IS NULL
 ORDER BY next_at, namespace, name
 LIMIT :limit;
