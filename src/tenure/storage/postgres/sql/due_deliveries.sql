-- Take deliveries that are due.

-- part: open
-- The webhooks that have some. Their rows are locked, so that what two processes take together is counted.
SELECT id
  FROM tenure.webhook
 WHERE paused_at IS NULL AND (open_at IS NULL OR open_at <= tenure.now())
   AND (id, spec) NOT IN (SELECT * FROM unnest(:left_webhooks::uuid[], :left_specs::text[]))
   AND EXISTS (SELECT FROM (SELECT next_at FROM tenure.delivery
                             WHERE delivery.webhook = webhook.id AND state = 'waiting'
                             ORDER BY next_at LIMIT 1) first
                WHERE first.next_at <= tenure.now())
 ORDER BY id
   FOR NO KEY UPDATE;

-- part: webhooks
SELECT * FROM tenure.webhook WHERE id = ANY (:open::uuid[]);

-- part: take
-- Up to as many of each as there is room for, the first of each first. A statement of its own: it sees what was taken before
-- the locks were had.
WITH
room AS MATERIALIZED (
    SELECT webhook.id,
           CASE WHEN failures >= :closed_from::integer THEN 1 - held.n
                WHEN recovered_at > tenure.now() - interval '1 minute' THEN least(1, :each::integer - held.n)
                ELSE :each::integer - held.n END AS n
      FROM unnest(:open::uuid[]) AS opened (id)
     CROSS JOIN LATERAL (SELECT * FROM tenure.webhook
                          WHERE webhook.id = opened.id AND paused_at IS NULL
                            AND (open_at IS NULL OR open_at <= tenure.now()) LIMIT 1) webhook
     CROSS JOIN LATERAL (SELECT count(*) AS n FROM tenure.delivery
                          WHERE delivery.webhook = opened.id AND holder IS NOT NULL AND next_at > tenure.now()) held
),
due AS MATERIALIZED (
    SELECT first.webhook, first.message
      FROM room
     CROSS JOIN LATERAL (SELECT webhook, message, next_at, row_number() OVER (ORDER BY next_at) AS place
                           FROM (SELECT webhook, message, next_at
                                   FROM tenure.delivery
                                  WHERE delivery.webhook = room.id AND state = 'waiting' AND next_at <= tenure.now()
                                  ORDER BY next_at
                                  LIMIT greatest(room.n, 0)) few) first
     ORDER BY first.place, first.next_at
     LIMIT :limit::integer
),
-- Looked up by what they are, and not by their state as well: a plan made while there was none would read all that wait.
-- What is due waits.
taken AS (
    UPDATE tenure.delivery
       SET holder = :holder::text, next_at = tenure.now() + :hold_for::interval
      FROM due
     WHERE delivery.webhook = due.webhook AND delivery.message = due.message AND delivery.next_at <= tenure.now()
    RETURNING delivery.*
),
-- One that has just recovered gets no more than ten a second.
gentle AS (
    UPDATE tenure.webhook
       SET open_at = tenure.now() + interval '100 milliseconds'
     WHERE id = ANY (ARRAY(SELECT webhook FROM taken)) AND failures < :closed_from::integer
       AND recovered_at > tenure.now() - interval '1 minute'
)
SELECT * FROM taken;
