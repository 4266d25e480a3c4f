-- Forget workers not seen for a day, and ticks and ended repetitions of 90 days ago; a tick whose job has not ended stays,
-- where its schedule asks about that. Totals need no folding here.

-- part: workers
DELETE FROM tenure_worker WHERE seen_at < :now - 86400000000 RETURNING true AS is_spared;

-- part: ticks
DELETE FROM tenure_tick
 WHERE (namespace, schedule, at, is_by_hand) IN (
           SELECT namespace, schedule, at, is_by_hand
             FROM tenure_tick tick
            WHERE noted_at < :now - 7776000000000
              AND NOT (is_open = 1
                       AND EXISTS (SELECT 1 FROM tenure_job_state s WHERE s.id = tick.job AND s.finished_at IS NULL))
            ORDER BY noted_at
            LIMIT 10000);

-- part: announcements
DELETE FROM tenure_announced
 WHERE at < :now - 86400000000 AND NOT EXISTS (SELECT 1 FROM tenure_worker WHERE tenure_worker.id = worker);

-- part: repetitions
DELETE FROM tenure_schedule
 WHERE source = 'task' AND next_at IS NULL AND max(updated_at, coalesce(last_at, updated_at)) < :now - 7776000000000;
