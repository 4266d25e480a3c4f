-- Those of the keys that open something now. A row without a key says that there are keys at all.
SELECT NULL AS key, NULL AS digest, NULL AS name, NULL AS scopes, NULL AS definitions, NULL AS queues,
       NULL AS namespace, NULL AS was_idle
 WHERE EXISTS (SELECT 1 FROM tenure_access_key)
 UNION ALL
SELECT id, digest, name, scopes, definitions, queues, namespace, (last_used_at > :now - :idle) IS NOT TRUE
  FROM tenure_access_key
 WHERE id IN (SELECT value FROM json_each(:ids)) AND revoked_at IS NULL AND (expires_at > :now) IS NOT FALSE;
