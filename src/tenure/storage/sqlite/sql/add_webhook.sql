-- Record a webhook with its secret. It begins at the end of the feed: what is committed later comes behind that.

-- part: webhook
INSERT INTO tenure_webhook (id, namespace, creator, spec, begins_behind, created_at, updated_at, count_at, paused_by,
                            paused_at, paused_behind)
VALUES (:id, :namespace, :creator, :spec, :begins_behind, :now, :now, :now, :paused_by,
        CASE WHEN :paused_by IS NOT NULL THEN :now END, CASE WHEN :paused_by IS NOT NULL THEN :begins_behind END)
ON CONFLICT DO NOTHING
RETURNING *;

-- part: secret
INSERT INTO tenure_webhook_secret (webhook, rotation, text) VALUES (:id, 1, :secret);
