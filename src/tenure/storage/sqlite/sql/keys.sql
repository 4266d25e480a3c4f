SELECT id AS key, name, scopes, definitions, queues, namespace, created_at, expires_at, revoked_at, last_used_at
  FROM tenure_access_key
 ORDER BY created_at, id;
