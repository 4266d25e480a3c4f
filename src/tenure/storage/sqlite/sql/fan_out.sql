-- Record deliveries and move the cursor that they come from, in one transaction.

-- part: move
-- Only one that is as it was read: neither moved by another process nor with other webhooks than these are from.
UPDATE tenure_cursor
   SET mark = :to_mark, job = :to_job, n = :to_n
 WHERE name = :name AND generation = :generation AND mark = :mark AND job = :job AND n = :n
RETURNING name;

-- part: end
-- What has caught up is done with, unless more was left to it meanwhile.
DELETE FROM tenure_cursor
 WHERE name = :name AND generation = :generation AND mark = :mark AND job = :job AND n = :n
   AND until_position IS :until_position
RETURNING name;

-- part: counted
-- The webhooks of which it is time to count what waits.
UPDATE tenure_webhook
   SET count_at = :now + 10000000
 WHERE id IN (SELECT value FROM json_each(:webhooks)) AND count_at <= :now AND paused_at IS NULL
RETURNING id;

-- part: delivery
-- A message on record stays as it is.
INSERT INTO tenure_delivery (webhook, message, type, at, job, n, body, noted_at, next_at)
SELECT id, :message, :type, :at, :job, :n, :body, :now, :now FROM tenure_webhook WHERE id = :webhook
ON CONFLICT DO NOTHING;

-- part: again
-- What is to be sent again, unless it waits for that anyway.
UPDATE tenure_delivery
   SET state = 'waiting', tries = 0, next_at = :now, holder = NULL, body = :body
 WHERE webhook = :webhook AND message = :message AND state <> 'waiting';

-- part: crowded
SELECT count(*) > :most AS is_crowded
  FROM (SELECT 1 FROM tenure_delivery WHERE webhook = :webhook AND state = 'waiting' LIMIT :most + 1);
