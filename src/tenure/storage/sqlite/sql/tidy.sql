-- Forget workers not seen for a day, and ticks and ended repetitions of 90 days ago. Totals need no folding here.

-- part: workers
DELETE FROM tenure_worker WHERE seen_at < :now - 86400000000 RETURNING true AS is_spared;

-- part: ticks
DELETE FROM tenure_tick
 WHERE (namespace, schedule, at) IN (SELECT namespace, schedule, at FROM tenure_tick
                                      WHERE noted_at < :now - 7776000000000 ORDER BY noted_at LIMIT 10000);

-- part: repetitions
DELETE FROM tenure_schedule
 WHERE source = 'task' AND next_at IS NULL AND max(updated_at, coalesce(last_at, updated_at)) < :now - 7776000000000;
