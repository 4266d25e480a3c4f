-- Give a webhook a new secret. The one before signs beside it for a while; those before that go.

-- part: count
UPDATE tenure.webhook SET rotation = rotation + 1, updated_at = tenure.now() WHERE id = :id::uuid RETURNING *;

-- part: retire
UPDATE tenure.webhook_secret
   SET until_at = tenure.now() + :keep::interval
 WHERE webhook = :id::uuid AND until_at IS NULL;

-- part: forget
DELETE FROM tenure.webhook_secret WHERE webhook = :id::uuid AND rotation < :rotation::integer - 1;

-- part: secret
INSERT INTO tenure.webhook_secret (webhook, rotation, text) VALUES (:id::uuid, :rotation::integer, :secret::text);
