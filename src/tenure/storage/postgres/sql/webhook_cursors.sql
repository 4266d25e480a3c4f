-- The cursors of webhooks: what those verbs have in common that change which webhook gets which events.

-- part: begin
-- With the first webhook there is a cursor. It is where nothing can be added any more, so that all that is committed
-- later comes behind it. For the others it is a change like any.
INSERT INTO tenure.cursor (name, mark, job, n, generation, held_at)
VALUES ('webhooks', :mark::bigint, :job::uuid, :n::integer, :generation::bigint, tenure.now())
ON CONFLICT (name) DO UPDATE SET generation = cursor.generation + 1
RETURNING mark, job, n;

-- part: stir
-- Whoever has read a cursor does not move it any more. All such verbs begin here, and so take turns; that of all webhooks
-- first, then a webhook, then deliveries: in this order everything is locked.
UPDATE tenure.cursor
   SET generation = generation + 1
 WHERE name = 'webhooks' OR name = 'webhook:' || :webhook::uuid
RETURNING *;

-- part: catch_up
INSERT INTO tenure.cursor (name, webhook, mark, job, n, until_position, since_at, again, generation, held_at)
VALUES ('webhook:' || :webhook::uuid, :webhook::uuid, :mark::bigint, :job::uuid, :n::integer, :until_position::text,
        :since::timestamptz, :again::boolean, :generation::bigint, tenure.now())
ON CONFLICT (name) DO UPDATE
   SET mark           = excluded.mark,
       job            = excluded.job,
       n              = excluded.n,
       until_position = excluded.until_position,
       since_at       = excluded.since_at,
       again          = excluded.again,
       generation     = cursor.generation + 1,
       held_at        = tenure.now();

-- part: leave
-- What the cursor of all passes is left to a webhook's own, which is somewhere before that if there is one.
INSERT INTO tenure.cursor (name, webhook, mark, job, n, until_position, generation, held_at)
VALUES ('webhook:' || :webhook::uuid, :webhook::uuid, :mark::bigint, :job::uuid, :n::integer, :until_position::text,
        :generation::bigint, tenure.now())
ON CONFLICT (name) DO UPDATE
   SET until_position = excluded.until_position,
       since_at       = CASE WHEN NOT cursor.again THEN cursor.since_at END,
       held_at        = tenure.now();

-- part: end_own
DELETE FROM tenure.cursor WHERE name = 'webhook:' || :webhook::uuid;

-- part: end
-- With the last webhook the cursor goes: nothing is kept for it.
DELETE FROM tenure.cursor WHERE name = 'webhooks' AND NOT EXISTS (SELECT FROM tenure.webhook);
