-- One webhook, without its secrets.
SELECT * FROM tenure.webhook WHERE id = :id::uuid;
