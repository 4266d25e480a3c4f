-- Remove a webhook and its secrets. `tidy` finds its deliveries, of which there may be many.

-- part: webhook
DELETE FROM tenure_webhook WHERE id = :id RETURNING id;

-- part: secrets
DELETE FROM tenure_webhook_secret WHERE webhook = :id;
