-- Record deliveries and move the cursor that they come from, in one transaction.

-- part: move
-- Only one that is as it was read: neither moved by another process nor with other webhooks than these are from.
UPDATE tenure.cursor
   SET mark = :to_mark::bigint, job = :to_job::uuid, n = :to_n::integer
 WHERE name = :name::text AND generation = :generation::bigint
   AND mark = :mark::bigint AND job = :job::uuid AND n = :n::integer
RETURNING name;

-- part: end
-- What has caught up is done with, unless more was left to it meanwhile.
DELETE FROM tenure.cursor
 WHERE name = :name::text AND generation = :generation::bigint
   AND mark = :mark::bigint AND job = :job::uuid AND n = :n::integer
   AND until_position IS NOT DISTINCT FROM :until_position::text
RETURNING name;

-- part: counted
-- The webhooks of which it is time to count what waits: before their deliveries are locked.
WITH
late AS MATERIALIZED (
    SELECT id FROM tenure.webhook
     WHERE id = ANY (:webhooks::uuid[]) AND count_at <= tenure.now() AND paused_at IS NULL
     ORDER BY id
       FOR UPDATE
)
UPDATE tenure.webhook
   SET count_at = tenure.now() + interval '10 seconds'
  FROM late
 WHERE webhook.id = late.id
RETURNING webhook.id;

-- part: deliveries
-- A message on record stays as it is.
INSERT INTO tenure.delivery (webhook, message, type, at, job, n, body, noted_at, next_at)
SELECT given.*, tenure.now(), tenure.now()
  FROM unnest(:targets::uuid[], :messages::text[], :types::text[], :ats::timestamptz[], :jobs::uuid[], :ns::integer[],
              :bodies::text[]) AS given (webhook, message, type, at, job, n, body)
 WHERE EXISTS (SELECT FROM tenure.webhook WHERE webhook.id = given.webhook)
ON CONFLICT DO NOTHING;

-- part: again
-- What is to be sent again, unless it waits for that anyway: so nothing is locked that others try to deliver.
UPDATE tenure.delivery
   SET state = 'waiting', tries = 0, next_at = tenure.now(), holder = NULL, body = given.body
  FROM unnest(:targets::uuid[], :messages::text[], :bodies::text[]) AS given (webhook, message, body)
 WHERE delivery.webhook = given.webhook AND delivery.message = given.message AND delivery.state <> 'waiting';

-- part: crowded
SELECT counted.id
  FROM unnest(:counted::uuid[]) AS counted (id)
 WHERE (SELECT count(*) FROM (SELECT FROM tenure.delivery
                               WHERE webhook = counted.id AND state = 'waiting'
                               ORDER BY next_at
                               LIMIT :most::integer + 1) waits) > :most::integer;
