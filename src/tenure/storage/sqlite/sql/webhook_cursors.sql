-- The cursors of webhooks: what those verbs have in common that change which webhook gets which events.

-- part: begin
-- With the first webhook there is a cursor, at the end of the feed. For the others it is a change like any.
INSERT INTO tenure_cursor (name, mark, job, n, generation, held_at)
VALUES ('webhooks', :mark, :job, :n, :generation, :now)
ON CONFLICT (name) DO UPDATE SET generation = generation + 1;

-- part: stir
-- Whoever has read a cursor does not move it any more.
UPDATE tenure_cursor SET generation = generation + 1 WHERE name IN ('webhooks', 'webhook:' || :webhook)
RETURNING name, mark, job, n, webhook, since_at, again, until_position;

-- part: catch_up
INSERT INTO tenure_cursor (name, webhook, mark, job, n, until_position, since_at, again, generation, held_at)
VALUES ('webhook:' || :webhook, :webhook, :mark, :job, :n, :until_position, :since, :again, :generation, :now)
ON CONFLICT (name) DO UPDATE
   SET mark           = excluded.mark,
       job            = excluded.job,
       n              = excluded.n,
       until_position = excluded.until_position,
       since_at       = excluded.since_at,
       again          = excluded.again,
       generation     = generation + 1,
       held_at        = excluded.held_at;

-- part: leave
-- What the cursor of all passes is left to a webhook's own, which is somewhere before that if there is one.
INSERT INTO tenure_cursor (name, webhook, mark, job, n, until_position, generation, held_at)
VALUES ('webhook:' || :webhook, :webhook, :mark, :job, :n, :until_position, :generation, :now)
ON CONFLICT (name) DO UPDATE
   SET until_position = excluded.until_position,
       since_at       = CASE WHEN NOT again THEN since_at END,
       held_at        = excluded.held_at;

-- part: end_own
DELETE FROM tenure_cursor WHERE name = 'webhook:' || :webhook;

-- part: end
-- With the last webhook the cursor goes: nothing is kept for it.
DELETE FROM tenure_cursor WHERE name = 'webhooks' AND NOT EXISTS (SELECT 1 FROM tenure_webhook);
