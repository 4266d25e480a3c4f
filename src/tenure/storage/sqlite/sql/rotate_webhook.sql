-- Give a webhook a new secret. The one before signs beside it for a while; those before that go.

-- part: count
UPDATE tenure_webhook SET rotation = rotation + 1, updated_at = :now WHERE id = :id RETURNING *;

-- part: retire
UPDATE tenure_webhook_secret SET until_at = :now + :keep WHERE webhook = :id AND until_at IS NULL;

-- part: forget
DELETE FROM tenure_webhook_secret WHERE webhook = :id AND rotation < :rotation - 1;

-- part: secret
INSERT INTO tenure_webhook_secret (webhook, rotation, text) VALUES (:id, :rotation, :secret);
