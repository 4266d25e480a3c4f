-- Record how tries ended, and what that says of their webhooks.

-- part: settle
-- Only who holds a delivery says how it ended; but what was delivered is delivered.
UPDATE tenure_delivery
   SET state    = :state,
       tries    = tries + :counts,
       next_at  = CASE WHEN :state = 'waiting' THEN :now + coalesce(:after, 0) END,
       tried_at = :now,
       took_us  = :took_us,
       status   = :status,
       problem  = :problem,
       holder   = NULL
 WHERE webhook = :webhook AND message = :message
   AND (state = 'waiting' AND holder = :holder OR :state = 'delivered' AND state <> 'delivered')
RETURNING webhook, message;

-- part: webhook
-- A delivery ends the failures in a row; of one that had many it is the first of a gentle minute.
UPDATE tenure_webhook
   SET failures     = iif(:delivered, 0, failures + :failed),
       failing_at   = iif(:delivered, NULL, coalesce(failing_at, :now)),
       delivered_at = iif(:delivered, :now, delivered_at),
       recovered_at = iif(:delivered AND failures >= :closed_from, :now, recovered_at),
       open_at      = CASE WHEN :closes IS NOT NULL THEN max(coalesce(open_at, 0), :now + :closes)
                           WHEN :delivered AND failures >= :closed_from THEN :now + 100000
                           WHEN :delivered AND coalesce(recovered_at, 0) <= :now - 60000000 THEN NULL
                           ELSE open_at END
 WHERE id = :webhook;
