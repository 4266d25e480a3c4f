-- Deliveries of a webhook, those noted last first: of each state the first ones, by the index. What is sent is not read.
SELECT part.*
  FROM unnest(:states::text[]) AS asked (state)
 CROSS JOIN LATERAL (SELECT webhook, message, type, at, job, n, delivery.state, tries, noted_at, next_at, tried_at, status,
                            took_us, problem
                       FROM tenure.delivery
                      WHERE webhook = :webhook::uuid AND delivery.state = asked.state
                        AND (noted_at, message) < (coalesce(:noted_before::timestamptz, 'infinity'), :message_before::text)
                      ORDER BY webhook DESC, delivery.state DESC, noted_at DESC, message DESC
                      LIMIT :limit::integer) part
 WHERE EXISTS (SELECT FROM tenure.webhook WHERE id = :webhook::uuid)
 ORDER BY noted_at DESC, message DESC
 LIMIT :limit::integer;
