-- Deliveries of a webhook, those noted last first: of each state the first ones, by the index. What is sent is not read.
WITH
noted (webhook, message, noted_at) AS MATERIALIZED (
    SELECT * FROM (SELECT webhook, message, noted_at FROM tenure_delivery
                    WHERE webhook = :webhook AND state = 'waiting' AND coalesce(:state, 'waiting') = 'waiting'
                      AND (noted_at, message) < (:noted_before, :message_before)
                    ORDER BY noted_at DESC, message DESC LIMIT :limit)
     UNION ALL
    SELECT * FROM (SELECT webhook, message, noted_at FROM tenure_delivery
                    WHERE webhook = :webhook AND state = 'delivered' AND coalesce(:state, 'delivered') = 'delivered'
                      AND (noted_at, message) < (:noted_before, :message_before)
                    ORDER BY noted_at DESC, message DESC LIMIT :limit)
     UNION ALL
    SELECT * FROM (SELECT webhook, message, noted_at FROM tenure_delivery
                    WHERE webhook = :webhook AND state = 'dead' AND coalesce(:state, 'dead') = 'dead'
                      AND (noted_at, message) < (:noted_before, :message_before)
                    ORDER BY noted_at DESC, message DESC LIMIT :limit)
)
SELECT delivery.webhook, delivery.message, type, at, job, n, state, tries, delivery.noted_at, next_at, tried_at, status,
       took_us, problem
  FROM (SELECT * FROM noted ORDER BY noted_at DESC, message DESC LIMIT :limit) listed
 CROSS JOIN tenure_delivery delivery ON delivery.webhook = listed.webhook AND delivery.message = listed.message
 WHERE EXISTS (SELECT 1 FROM tenure_webhook WHERE id = :webhook)
 ORDER BY delivery.noted_at DESC, delivery.message DESC;
