-- A key that was used within the last minute, by whatever process, stays as it is.
UPDATE tenure_access_key SET last_used_at = :now
 WHERE id IN (SELECT value FROM json_each(:ids)) AND (last_used_at > :now - :idle) IS NOT TRUE;
