-- Begin a session unless its key opens nothing any more. Sessions that are over go, and so do the oldest of the same key
-- when it has too many.

-- part: gone
DELETE FROM tenure_session
 WHERE digest IN (SELECT digest FROM tenure_session WHERE expires_at <= :now LIMIT 1000)
    OR digest IN (SELECT digest FROM tenure_session WHERE key = :holder
                   ORDER BY created_at DESC, digest LIMIT -1 OFFSET :most - 1);

-- part: answer
INSERT INTO tenure_session (digest, key, created_at, expires_at)
SELECT :digest, id, :now, :now + :lifetime
  FROM tenure_access_key
 WHERE id = :holder AND revoked_at IS NULL AND (expires_at > :now) IS NOT FALSE
RETURNING key;
