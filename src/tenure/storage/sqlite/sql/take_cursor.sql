-- Take the cursor that was not taken for longest: turns are told apart even within a microsecond. One that
-- catches up rests while its webhook is paused or has much to do, and is left to others by a process that cannot read it.
UPDATE tenure_cursor
   SET holder     = :holder,
       held_at    = max(:now, (SELECT max(held_at) FROM tenure_cursor) + 1),
       held_until = :now + :hold_for
 WHERE name = (SELECT name
                 FROM tenure_cursor free
                WHERE (holder = :holder OR held_until IS NULL OR held_until <= :now)
                  AND (webhook IS NULL
                       OR EXISTS (SELECT 1 FROM tenure_webhook
                                   WHERE id = free.webhook AND paused_at IS NULL
                                     AND (id, spec) NOT IN (SELECT value ->> 0, value ->> 1 FROM json_each(:left)))
                          AND (SELECT count(*) FROM (SELECT 1 FROM tenure_delivery delivery
                                                      WHERE delivery.webhook = free.webhook AND state = 'waiting'
                                                      LIMIT :most + 1)) <= :most)
                ORDER BY held_at, name
                LIMIT 1)
RETURNING name, mark, job, n, webhook, generation, since_at, again, until_position, :now AS now_at;
