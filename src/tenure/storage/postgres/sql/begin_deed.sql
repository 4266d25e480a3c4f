INSERT INTO tenure.audit (at, request, key, who, action, target)
VALUES (tenure.now(), :request::uuid, :key::text, :who::text, :action::text, :target::text)
RETURNING id AS n;
