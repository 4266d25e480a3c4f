-- Let a key open nothing from now on; one that was revoked before stays as it is. Answers whether there is one.
UPDATE tenure_access_key SET revoked_at = coalesce(revoked_at, :now) WHERE id = :id RETURNING id AS key;
