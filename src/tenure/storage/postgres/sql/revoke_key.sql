-- Let a key open nothing from now on; one that was revoked before stays as it is. Answers whether there is one.
WITH
revoked AS (
    UPDATE tenure.access_key SET revoked_at = coalesce(revoked_at, tenure.now()) WHERE id = :id::text RETURNING id
)
INSERT INTO tenure.audit (at, request, key, who, action, target, outcome)
SELECT tenure.now(), :request::uuid, :key::text, :who::text, :action::text, :target::text, 'done' FROM revoked
RETURNING id;
