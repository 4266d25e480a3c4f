-- How deliveries do, by webhook. Those that have ended are counted up to a bound.
SELECT webhook.id AS webhook,
       (SELECT count(*) FROM tenure_delivery WHERE tenure_delivery.webhook = webhook.id AND state = 'waiting') AS waiting,
       (SELECT min(noted_at) FROM tenure_delivery WHERE tenure_delivery.webhook = webhook.id AND state = 'waiting') AS oldest_at,
       (SELECT count(*) FROM (SELECT 1 FROM tenure_delivery
                               WHERE tenure_delivery.webhook = webhook.id AND state = 'delivered' AND noted_at > :now - 86400000000
                               LIMIT :most)) AS delivered,
       (SELECT count(*) FROM (SELECT 1 FROM tenure_delivery
                               WHERE tenure_delivery.webhook = webhook.id AND state = 'dead' LIMIT :most)) AS dead
  FROM tenure_webhook webhook
 WHERE webhook.id IN (SELECT value FROM json_each(:webhooks));
