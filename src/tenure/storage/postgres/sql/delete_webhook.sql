-- Remove a webhook and its secrets. `tidy` finds its deliveries, of which there may be many.

-- part: webhook
DELETE FROM tenure.webhook WHERE id = :id::uuid RETURNING id;

-- part: secrets
DELETE FROM tenure.webhook_secret WHERE webhook = :id::uuid;
