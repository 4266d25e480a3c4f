-- The key of a session that is not over, if that key opens something now.
SELECT held.id AS key, held.digest, held.name, held.scopes, held.definitions, held.queues, held.namespace,
       (held.last_used_at > tenure.now() - :idle::interval) IS NOT TRUE AS was_idle
  FROM tenure.session
  JOIN tenure.access_key held ON held.id = session.key
 WHERE session.digest = :digest::bytea AND session.expires_at > tenure.now()
   AND held.revoked_at IS NULL AND (held.expires_at > tenure.now()) IS NOT FALSE;
