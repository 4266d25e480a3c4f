-- Let a webhook go on.

-- part: give_up
-- What waits is not sent, if it is to go on from now: in portions, while it is still paused.
UPDATE tenure.delivery
   SET state = 'dead', next_at = NULL, holder = NULL, problem = 'given up: the webhook was resumed from then on'
 WHERE webhook = :id::uuid
   AND message = ANY (ARRAY(SELECT delivery.message
                              FROM tenure.webhook
                             CROSS JOIN LATERAL (SELECT message FROM tenure.delivery
                                                  WHERE delivery.webhook = webhook.id AND state = 'waiting'
                                                  ORDER BY next_at LIMIT :limit::integer) delivery
                             WHERE webhook.id = :id::uuid AND webhook.paused_at IS NOT NULL))
RETURNING message;

-- part: move
-- It begins gently, and has some time to work off what waits before that is counted again.
UPDATE tenure.webhook
   SET paused_at     = NULL,
       paused_by     = NULL,
       reason        = NULL,
       paused_behind = NULL,
       begins_behind = :begins_behind::text,
       failing_at    = NULL,
       open_at       = NULL,
       failures      = 0,
       recovered_at  = tenure.now(),
       count_at      = tenure.now() + interval '1 hour',
       updated_at    = tenure.now()
 WHERE id = :id::uuid AND paused_at IS NOT NULL
RETURNING *;
