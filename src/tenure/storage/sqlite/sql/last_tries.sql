-- When and how the deliveries of a webhook were tried last: of each state those that were noted last. One without a try
-- tells how far back they go.
SELECT * FROM (SELECT state, noted_at, tried_at, took_us FROM tenure_delivery
                WHERE webhook = :webhook AND state = 'waiting' ORDER BY noted_at DESC, message DESC LIMIT :limit)
 UNION ALL
SELECT * FROM (SELECT state, noted_at, tried_at, took_us FROM tenure_delivery
                WHERE webhook = :webhook AND state = 'delivered' ORDER BY noted_at DESC, message DESC LIMIT :limit)
 UNION ALL
SELECT * FROM (SELECT state, noted_at, tried_at, took_us FROM tenure_delivery
                WHERE webhook = :webhook AND state = 'dead' ORDER BY noted_at DESC, message DESC LIMIT :limit);
