-- Begin a session, together with who did it, unless its key opens nothing any more. Sessions that are over go, and so do
-- the oldest of the same key when it has too many. In order, so that two calls do not wait for each other in a circle.
WITH
gone AS MATERIALIZED (
    SELECT digest FROM tenure.session
     WHERE expires_at <= tenure.now()
        OR digest IN (SELECT digest FROM tenure.session WHERE key = :holder::text
                       ORDER BY created_at DESC, digest OFFSET :most::integer - 1)
     ORDER BY digest
     LIMIT 1000
       FOR UPDATE SKIP LOCKED
),
removed AS (
    DELETE FROM tenure.session USING gone WHERE session.digest = gone.digest
),
begun AS (
    INSERT INTO tenure.session (digest, key, created_at, expires_at)
    SELECT :digest::bytea, id, tenure.now(), tenure.now() + :lifetime::interval
      FROM tenure.access_key
     WHERE id = :holder::text AND revoked_at IS NULL AND (expires_at > tenure.now()) IS NOT FALSE
    RETURNING key
)
INSERT INTO tenure.audit (at, request, key, who, action, target, outcome)
SELECT tenure.now(), :request::uuid, :key::text, :who::text, :action::text, :target::text, 'done' FROM begun
RETURNING id;
