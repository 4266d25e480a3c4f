-- Record how tries ended, and what that says of their webhooks.

-- part: lock
SELECT id FROM tenure.webhook WHERE id = ANY (:webhooks::uuid[]) ORDER BY id FOR NO KEY UPDATE;

-- part: settle
-- Only who holds a delivery says how it ended; but what was delivered is delivered.
UPDATE tenure.delivery
   SET state    = given.state,
       tries    = tries + CASE WHEN given.counts THEN 1 ELSE 0 END,
       next_at  = CASE WHEN given.state = 'waiting' THEN tenure.now() + coalesce(given.after, '0') END,
       tried_at = tenure.now(),
       took_us  = given.took_us,
       status   = given.status,
       problem  = given.problem,
       holder   = NULL
  FROM unnest(:targets::uuid[], :messages::text[], :states::text[], :counts::boolean[], :afters::interval[],
              :tooks::bigint[], :statuses::integer[], :problems::text[])
         AS given (webhook, message, state, counts, after, took_us, status, problem)
 WHERE delivery.webhook = given.webhook AND delivery.message = given.message
   AND (delivery.state = 'waiting' AND delivery.holder = :holder::text
        OR given.state = 'delivered' AND delivery.state <> 'delivered')
RETURNING delivery.webhook, delivery.message;

-- part: webhooks
-- A delivery ends the failures in a row; of one that had many it is the first of a gentle minute.
UPDATE tenure.webhook
   SET failures     = CASE WHEN given.delivered THEN 0 ELSE failures + given.failed END,
       failing_at   = CASE WHEN NOT given.delivered THEN coalesce(failing_at, tenure.now()) END,
       delivered_at = CASE WHEN given.delivered THEN tenure.now() ELSE delivered_at END,
       recovered_at = CASE WHEN given.delivered AND failures >= :closed_from::integer THEN tenure.now() ELSE recovered_at END,
       open_at      = CASE WHEN given.closes IS NOT NULL THEN greatest(open_at, tenure.now() + given.closes)
                           WHEN given.delivered AND failures >= :closed_from::integer
                                THEN tenure.now() + interval '100 milliseconds'
                           WHEN given.delivered AND (recovered_at > tenure.now() - interval '1 minute') IS NOT TRUE THEN NULL
                           ELSE open_at END
  FROM unnest(:webhooks::uuid[], :delivered::boolean[], :failed::integer[], :closes::interval[])
         AS given (id, delivered, failed, closes)
 WHERE webhook.id = given.id;
