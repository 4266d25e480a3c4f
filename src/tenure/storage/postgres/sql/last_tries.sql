-- When and how the deliveries of a webhook were tried last: of each state those that were noted last. One without a try
-- tells how far back they go.
SELECT noted.*
  FROM (VALUES ('waiting'), ('delivered'), ('dead')) AS known (state)
 CROSS JOIN LATERAL (SELECT state, noted_at, tried_at, took_us
                       FROM tenure.delivery
                      WHERE delivery.webhook = :webhook::uuid AND delivery.state = known.state
                      ORDER BY noted_at DESC, message DESC LIMIT :limit::integer) noted;
