-- Webhooks by id, without their secrets.
SELECT *
  FROM tenure.webhook
 WHERE id >= :first::uuid AND (:namespace::text IS NULL OR namespace = :namespace::text)
 ORDER BY id
 LIMIT :limit::integer;
