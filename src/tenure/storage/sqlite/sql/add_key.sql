-- Put a key on record; nothing when its id is taken.
INSERT INTO tenure_access_key (id, created_at, expires_at, digest, name, scopes, definitions, queues, namespace)
SELECT :id, :now, :now + :lifetime, :digest, :name, :scopes, :definitions, :queues, :namespace
 WHERE NOT EXISTS (SELECT 1 FROM tenure_access_key WHERE id = :id)
RETURNING id AS key;
