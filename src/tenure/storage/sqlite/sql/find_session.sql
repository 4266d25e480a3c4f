-- The key of a session that is not over, if that key opens something now.
SELECT held.id AS key, held.digest, held.name, held.scopes, held.definitions, held.queues, held.namespace,
       (held.last_used_at > :now - :idle) IS NOT TRUE AS was_idle
  FROM tenure_session session
  JOIN tenure_access_key held ON held.id = session.key
 WHERE session.digest = :digest AND session.expires_at > :now
   AND held.revoked_at IS NULL AND (held.expires_at > :now) IS NOT FALSE;
