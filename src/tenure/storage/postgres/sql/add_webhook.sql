-- Record a webhook with its secret. It begins at the end of the feed, which is read after the cursor is locked: what is
-- committed later comes behind that, and what the cursor has passed does not.

-- part: webhook
INSERT INTO tenure.webhook (id, namespace, creator, spec, begins_behind, created_at, updated_at, count_at, paused_by,
                            paused_at, paused_behind)
VALUES (:id::uuid, :namespace::text, :creator::text, :spec::text, :begins_behind::text, tenure.now(), tenure.now(),
        tenure.now(), :paused_by::text, CASE WHEN :paused_by::text IS NOT NULL THEN tenure.now() END,
        CASE WHEN :paused_by::text IS NOT NULL THEN :begins_behind::text END)
ON CONFLICT DO NOTHING
RETURNING *;

-- part: secret
INSERT INTO tenure.webhook_secret (webhook, rotation, text) VALUES (:id::uuid, 1, :secret::text);
