-- The pauses in force.
SELECT queue, definition, version, at AS paused_at, until AS paused_until_at, by AS paused_by, reason AS pause_reason
  FROM tenure.pause
 WHERE until IS NULL OR until > tenure.now()
 ORDER BY queue COLLATE "C", definition COLLATE "C", version;
