-- Let a webhook go on.

-- part: give_up
-- What waits is not sent, if it is to go on from now: in portions, while it is still paused.
UPDATE tenure_delivery
   SET state = 'dead', next_at = NULL, holder = NULL, problem = 'given up: the webhook was resumed from then on'
 WHERE webhook = :id
   AND EXISTS (SELECT 1 FROM tenure_webhook WHERE id = :id AND paused_at IS NOT NULL)
   AND message IN (SELECT message FROM tenure_delivery
                    WHERE webhook = :id AND state = 'waiting' ORDER BY next_at LIMIT :limit)
RETURNING message;

-- part: move
-- It begins gently, and has some time to work off what waits before that is counted again.
UPDATE tenure_webhook
   SET paused_at     = NULL,
       paused_by     = NULL,
       reason        = NULL,
       paused_behind = NULL,
       begins_behind = :begins_behind,
       failing_at    = NULL,
       open_at       = NULL,
       failures      = 0,
       recovered_at  = :now,
       count_at      = :now + 3600000000,
       updated_at    = :now
 WHERE id = :id AND paused_at IS NOT NULL
RETURNING *;
