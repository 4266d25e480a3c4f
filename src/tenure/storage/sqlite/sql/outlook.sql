-- What is to come, by the first entry of each index: for a worker that has nothing to do. Jobs that cannot be claimed
-- now, since their line is paused or a limit used up, do not count. Lines are found as `settle_and_claim` finds them.
-- Mostly nothing is paused, which is found out once and not for each line.
-- Timers of kinds that are a newer version's do not count, nor what this process cannot read of schedules and webhooks: it
-- would look again and again. Timers are read by when they are due: `+` keeps SQLite from reading all of a kind, to sort them.
WITH RECURSIVE
served (queue, definition, version) AS MATERIALIZED (
    SELECT DISTINCT value ->> 0, value ->> 1, value ->> 2
      FROM json_each(:lines) wanted
     WHERE (NOT EXISTS (SELECT 1 FROM tenure_pause)
             OR NOT EXISTS (SELECT 1 FROM tenure_pause
                             WHERE queue IN ('', wanted.value ->> 0) AND definition IN ('', wanted.value ->> 1)
                               AND version IN (0, wanted.value ->> 2)
                               AND (until IS NULL OR until > :now)))
),
few (line, limits) AS MATERIALIZED (
    SELECT id, limits FROM served CROSS JOIN tenure_line USING (queue, definition, version) LIMIT 100
),
filled (line) AS (
    SELECT CASE WHEN (SELECT count(*) FROM few) = 100 THEN (SELECT min(line) FROM tenure_ready) END
     UNION ALL
    SELECT (SELECT min(line) FROM tenure_ready WHERE tenure_ready.line > filled.line) FROM filled WHERE line IS NOT NULL
),
standing (limits) AS (
    SELECT limits FROM few
     WHERE (SELECT count(*) FROM few) < 100 AND EXISTS (SELECT 1 FROM tenure_ready WHERE tenure_ready.line = few.line)
     UNION ALL
    SELECT line.limits
      FROM filled
     CROSS JOIN tenure_line line ON line.id = filled.line
      JOIN served USING (queue, definition, version)
)
SELECT :now AS now_at,
       EXISTS (SELECT 1
                 FROM standing
                WHERE limits = '[]' OR (SELECT min(size - held)
                                          FROM json_each(limits) part
                                          JOIN tenure_limited limited ON limited.id = part.value
                                          JOIN tenure_limit_size USING (name)) > 0) AS waiting,
       EXISTS (SELECT 1
                 FROM json_each(:lines) wanted
                CROSS JOIN tenure_aftermath ended ON ended.queue = wanted.value ->> 0
                                                 AND ended.definition = wanted.value ->> 1
                                                 AND ended.version = wanted.value ->> 2) AS owed,
       (SELECT due_at FROM tenure_timer INDEXED BY tenure_timer_known
         WHERE due_at < 9223372036854775807 AND kind IN ('hold', 'scheduled', 'retry', 'resume', 'wait', 'give_up')
         ORDER BY due_at LIMIT 1) AS next_timer_at,
       (SELECT min(expires_at) FROM tenure_lease) AS next_expiry_at,
       (SELECT min(until) FROM tenure_pause WHERE until > :now) AS next_resume_at,
       (SELECT next_at FROM tenure_schedule
         WHERE next_at IS NOT NULL AND paused_at IS NULL
           AND (namespace, name, created_at, revision)
               NOT IN (SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3 FROM json_each(:alone))
         ORDER BY next_at LIMIT 1) AS next_tick_at,
       -- A delivery that is held is due again when its hold ends; while as many are held as may be, nothing else is due.
       (SELECT min(max(CASE WHEN (SELECT count(*) FROM tenure_delivery delivery
                                   WHERE delivery.webhook = webhook.id AND holder IS NOT NULL AND next_at > :now)
                                 >= iif(failures >= :closed_from, 1, :at_once)
                            THEN (SELECT min(next_at) FROM tenure_delivery delivery
                                   WHERE delivery.webhook = webhook.id AND holder IS NOT NULL AND next_at > :now)
                            ELSE (SELECT next_at FROM tenure_delivery delivery
                                   WHERE delivery.webhook = webhook.id AND state = 'waiting' ORDER BY next_at LIMIT 1) END,
                       coalesce(open_at, 0)))
          FROM tenure_webhook webhook
         WHERE paused_at IS NULL
           AND (id, spec) NOT IN (SELECT value ->> 0, value ->> 1 FROM json_each(:left))) AS next_delivery_at,
       EXISTS (SELECT 1 FROM tenure_webhook) AS has_cursor,
       (SELECT max(minute_at) FROM tenure_pace) AS paced_at,
       false AS drain;
