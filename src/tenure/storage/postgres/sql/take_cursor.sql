-- Take the cursor that was not taken for longest: turns are told apart even within a microsecond. One that
-- catches up rests while its webhook is paused or has much to do, and is left to others by a process that cannot read it.
WITH
free AS MATERIALIZED (
    SELECT name
      FROM tenure.cursor
     WHERE (holder = :holder::text OR held_until IS NULL OR held_until <= tenure.now())
       AND (webhook IS NULL
            OR EXISTS (SELECT FROM tenure.webhook
                        WHERE webhook.id = cursor.webhook AND paused_at IS NULL
                          AND (id, spec) NOT IN (SELECT * FROM unnest(:left_webhooks::uuid[], :left_specs::text[])))
               AND (SELECT count(*) FROM (SELECT FROM tenure.delivery
                                           WHERE delivery.webhook = cursor.webhook AND state = 'waiting'
                                           ORDER BY next_at
                                           LIMIT :most::integer + 1) waits) <= :most::integer)
     ORDER BY held_at, name
     LIMIT 1
       FOR UPDATE SKIP LOCKED
)
UPDATE tenure.cursor
   SET holder     = :holder::text,
       held_at    = greatest(tenure.now(), (SELECT max(held_at) FROM tenure.cursor) + interval '1 microsecond'),
       held_until = tenure.now() + :hold_for::interval
  FROM free
 WHERE cursor.name = free.name
RETURNING cursor.*, tenure.now() AS now_at;
