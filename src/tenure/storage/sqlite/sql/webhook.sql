-- One webhook, without its secrets.
SELECT * FROM tenure_webhook WHERE id = :id;
