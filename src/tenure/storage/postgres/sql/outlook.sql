-- What is to come, by the first entry of each index: for a worker that has nothing to do. Timers of kinds that are a newer
-- version's do not count, nor what this process cannot read of schedules and webhooks: it would look again and again.
-- A worker that is named is seen by that, and told whether it is to claim no more.
WITH
seen AS (
    UPDATE tenure.worker SET seen_at = tenure.now(), is_ready = :ready::boolean
     WHERE id = :worker::text
    RETURNING drain_requested_at IS NOT NULL AS drain
)
SELECT tenure.now() AS now_at,
       EXISTS (SELECT FROM unnest(:queues::text[], :definitions::text[], :versions::integer[])
                           AS served (queue, definition, version)
                CROSS JOIN LATERAL (SELECT * FROM tenure.line
                                     WHERE line.queue = served.queue AND line.definition = served.definition
                                       AND line.version = served.version OFFSET 0) line   -- found by their names
                CROSS JOIN LATERAL (SELECT FROM tenure.ready WHERE ready.line = line.id
                                     ORDER BY ready.line, ready.rank, ready.seq LIMIT 1) standing
                WHERE NOT EXISTS (SELECT FROM tenure.pause
                                   WHERE pause.queue IN ('', line.queue) AND pause.definition IN ('', line.definition)
                                     AND pause.version IN (0, line.version)
                                     AND (pause.until IS NULL OR pause.until > tenure.now()))
                  AND NOT EXISTS (SELECT FROM unnest(line.limits) AS wanted (id)
                                   CROSS JOIN LATERAL (SELECT name FROM tenure.limited
                                                        WHERE limited.id = wanted.id LIMIT 1) limited
                                   CROSS JOIN LATERAL (SELECT size FROM tenure.limit_size
                                                        WHERE limit_size.name = limited.name LIMIT 1) limit_size
                                   WHERE size <= (SELECT count(*) FROM tenure.slot
                                                   WHERE slot.limited = wanted.id AND slot.is_held))) AS waiting,
       EXISTS (SELECT FROM unnest(:queues::text[], :definitions::text[], :versions::integer[])
                           AS served (queue, definition, version)
                CROSS JOIN LATERAL (SELECT FROM tenure.aftermath
                                     WHERE aftermath.queue = served.queue AND aftermath.definition = served.definition
                                       AND aftermath.version = served.version
                                     ORDER BY queue, definition, version, job LIMIT 1) ended) AS owed,
       (SELECT due_at FROM tenure.timer
         WHERE due_at < 'infinity' AND kind IN ('hold', 'scheduled', 'retry', 'resume', 'wait', 'give_up')
         ORDER BY due_at LIMIT 1) AS next_timer_at,
       (SELECT min(expires_at) FROM tenure.lease) AS next_expiry_at,
       (SELECT min(until) FROM tenure.pause WHERE until > tenure.now()) AS next_resume_at,
       (SELECT next_at FROM tenure.schedule
         WHERE next_at IS NOT NULL AND paused_at IS NULL
           AND (namespace, name, created_at, revision) NOT IN (SELECT * FROM unnest(:alone_namespaces::text[], :alone_names::text[],
                                                                       :alone_made_at::timestamptz[], :alone_revisions::integer[]))
         ORDER BY next_at LIMIT 1) AS next_tick_at,
       -- A delivery that is held is due again when its hold ends; while as many are held as may be, nothing else is due.
       (SELECT min(greatest(CASE WHEN held.n >= CASE WHEN failures >= :closed_from::integer THEN 1 ELSE :at_once::integer END
                                 THEN held.ends_at ELSE first.next_at END, open_at))
          FROM tenure.webhook
         CROSS JOIN LATERAL (SELECT next_at FROM tenure.delivery
                              WHERE delivery.webhook = webhook.id AND state = 'waiting' ORDER BY next_at LIMIT 1) first
         CROSS JOIN LATERAL (SELECT count(*) AS n, min(next_at) AS ends_at
                               FROM (SELECT next_at FROM tenure.delivery
                                      WHERE delivery.webhook = webhook.id AND holder IS NOT NULL
                                        AND next_at > tenure.now()
                                      ORDER BY next_at LIMIT :at_once::integer) few) held
         WHERE paused_at IS NULL
           AND (id, spec) NOT IN (SELECT * FROM unnest(:left_webhooks::uuid[], :left_specs::text[]))) AS next_delivery_at,
       EXISTS (SELECT FROM tenure.webhook) AS has_cursor,
       (SELECT minute_at FROM tenure.pace ORDER BY minute_at DESC LIMIT 1) AS paced_at,
       (SELECT drain FROM seen) AS drain;
