-- Put a key on record, together with who did it; nothing when its id is taken.
WITH
made AS (
    INSERT INTO tenure.access_key (id, created_at, expires_at, digest, name, scopes, definitions, queues, namespace)
    VALUES (:id::text, tenure.now(), tenure.now() + :lifetime::interval, :digest::bytea, :name::text, :scopes::text,
            :definitions::text, :queues::text, :namespace::text)
    ON CONFLICT DO NOTHING
    RETURNING id
)
INSERT INTO tenure.audit (at, request, key, who, action, target, outcome)
SELECT tenure.now(), :request::uuid, :key::text, :who::text, :action::text, :target::text, 'done' FROM made
RETURNING id;
