-- Webhooks by id, without their secrets.
SELECT * FROM tenure_webhook WHERE id >= :first AND (:namespace IS NULL OR namespace = :namespace) ORDER BY id LIMIT :limit;
