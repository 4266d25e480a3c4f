-- Those of the keys that open something now. A row without a key says that there are keys at all.
SELECT NULL::text AS key, NULL::bytea AS digest, NULL::text AS name, NULL::text AS scopes, NULL::text AS definitions,
       NULL::text AS queues, NULL::text AS namespace, NULL::boolean AS was_idle
 WHERE EXISTS (SELECT FROM tenure.access_key)
 UNION ALL
SELECT id, digest, name, scopes, definitions, queues, namespace,
       (last_used_at > tenure.now() - :idle::interval) IS NOT TRUE
  FROM tenure.access_key
 WHERE id = ANY (:ids::text[]) AND revoked_at IS NULL AND (expires_at > tenure.now()) IS NOT FALSE;
