-- Remove what is left of deliveries that are done with, in portions.

-- part: ended
DELETE FROM tenure.delivery
 WHERE ctid = ANY (ARRAY(
           SELECT old.tid
             FROM tenure.webhook
            CROSS JOIN unnest(:states::text[], :kept::interval[]) AS kept (state, time)
            CROSS JOIN LATERAL (SELECT ctid AS tid
                                  FROM tenure.delivery
                                 WHERE delivery.webhook = webhook.id AND delivery.state = kept.state
                                   AND noted_at < tenure.now() - kept.time
                                   AND (tried_at IS NULL OR tried_at < tenure.now() - kept.time)
                                 ORDER BY noted_at
                                 LIMIT :limit::integer) old
            LIMIT :limit::integer))
RETURNING 1 AS removed;

-- part: orphans
-- Of webhooks that are gone: hops from one webhook to the next.
WITH RECURSIVE
seen (webhook) AS (
    (SELECT webhook FROM tenure.delivery
      WHERE webhook >= '00000000-0000-0000-0000-000000000000' ORDER BY webhook LIMIT 1)
    UNION ALL
    SELECT (SELECT delivery.webhook FROM tenure.delivery WHERE delivery.webhook > seen.webhook
             ORDER BY delivery.webhook LIMIT 1)
      FROM seen WHERE seen.webhook IS NOT NULL
)
DELETE FROM tenure.delivery
 WHERE ctid = ANY (ARRAY(
           SELECT left_over.tid
             FROM seen
            CROSS JOIN LATERAL (SELECT ctid AS tid FROM tenure.delivery
                                 WHERE delivery.webhook = seen.webhook LIMIT :limit::integer) left_over
            WHERE NOT EXISTS (SELECT FROM tenure.webhook WHERE webhook.id = seen.webhook)
            LIMIT :limit::integer))
RETURNING 1 AS removed;

-- part: secrets
-- No secret is kept longer than it signs.
DELETE FROM tenure.webhook_secret WHERE until_at <= tenure.now();
