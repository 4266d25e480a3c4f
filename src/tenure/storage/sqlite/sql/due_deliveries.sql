-- Take deliveries that are due.

-- part: open
-- The webhooks that have some, and how many more there is room for.
SELECT id,
       CASE WHEN failures >= :closed_from THEN 1 - held
            WHEN recovered_at > :now - 60000000 THEN min(1, :each - held)
            ELSE :each - held END AS room
  FROM (SELECT id, failures, recovered_at,
               (SELECT count(*) FROM tenure_delivery delivery
                 WHERE delivery.webhook = webhook.id AND holder IS NOT NULL AND next_at > :now) AS held
          FROM tenure_webhook webhook
         WHERE paused_at IS NULL AND (open_at IS NULL OR open_at <= :now)
           AND (id, spec) NOT IN (SELECT value ->> 0, value ->> 1 FROM json_each(:left))
           AND (SELECT next_at FROM tenure_delivery delivery
                 WHERE delivery.webhook = webhook.id AND state = 'waiting' ORDER BY next_at LIMIT 1) <= :now)
 ORDER BY id;

-- part: due
SELECT webhook, message, next_at
  FROM tenure_delivery
 WHERE webhook = :webhook AND state = 'waiting' AND next_at <= :now
 ORDER BY next_at
 LIMIT :limit;

-- part: take
UPDATE tenure_delivery
   SET holder = :holder, next_at = :now + :hold_for
 WHERE webhook = :webhook AND message = :message
RETURNING webhook, message, type, at, job, n, state, tries, noted_at, next_at, tried_at, status, took_us, problem, body;

-- part: gentle
-- One that has just recovered gets no more than ten a second.
UPDATE tenure_webhook
   SET open_at = :now + 100000
 WHERE id IN (SELECT value FROM json_each(:webhooks)) AND failures < :closed_from AND recovered_at > :now - 60000000;

-- part: webhooks
SELECT * FROM tenure_webhook WHERE id IN (SELECT value FROM json_each(:webhooks));
