-- Remove what is left of deliveries that are done with, in portions.

-- part: ended
DELETE FROM tenure_delivery
 WHERE rowid IN (
           SELECT old.rowid
             FROM tenure_webhook webhook
            CROSS JOIN tenure_delivery old
            WHERE old.webhook = webhook.id AND old.state = :state AND old.noted_at < :now - :kept
              AND coalesce(old.tried_at, 0) < :now - :kept
            LIMIT :limit)
RETURNING 1 AS removed;

-- part: orphans
-- Of webhooks that are gone: hops from one webhook to the next.
DELETE FROM tenure_delivery
 WHERE rowid IN (
           WITH RECURSIVE seen (webhook) AS (
               SELECT min(webhook) FROM tenure_delivery
                UNION ALL
               SELECT (SELECT min(delivery.webhook) FROM tenure_delivery delivery WHERE delivery.webhook > seen.webhook)
                 FROM seen WHERE seen.webhook IS NOT NULL
           )
           SELECT left_over.rowid
             FROM seen
            CROSS JOIN tenure_delivery left_over ON left_over.webhook = seen.webhook
            WHERE NOT EXISTS (SELECT 1 FROM tenure_webhook WHERE id = seen.webhook)
            LIMIT :limit)
RETURNING 1 AS removed;

-- part: secrets
-- No secret is kept longer than it signs.
DELETE FROM tenure_webhook_secret WHERE until_at <= :now;
