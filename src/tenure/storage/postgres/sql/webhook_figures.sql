-- How deliveries do, by webhook. Those that have ended are counted up to a bound.
SELECT asked.id AS webhook, waits.n AS waiting, waits.oldest_at, done.n AS delivered, given_up.n AS dead
  FROM unnest(:webhooks::uuid[]) AS asked (id)
 CROSS JOIN LATERAL (SELECT count(*) AS n, min(noted_at) AS oldest_at
                       FROM tenure.delivery
                      WHERE webhook = asked.id AND state = 'waiting') waits
 CROSS JOIN LATERAL (SELECT count(*) AS n
                       FROM (SELECT FROM tenure.delivery
                              WHERE webhook = asked.id AND state = 'delivered'
                                AND noted_at > tenure.now() - interval '1 day'
                              LIMIT :most::integer) counted) done
 CROSS JOIN LATERAL (SELECT count(*) AS n
                       FROM (SELECT FROM tenure.delivery
                              WHERE webhook = asked.id AND state = 'dead'
                              LIMIT :most::integer) counted) given_up
 WHERE EXISTS (SELECT FROM tenure.webhook WHERE webhook.id = asked.id);
