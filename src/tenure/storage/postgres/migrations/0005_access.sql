-- reads-from: 5
-- Who may do what over HTTP, and who did.

-- The access key by which a job was asked for, where one was.
ALTER TABLE tenure.job ADD COLUMN creator text;

-- Keys, without what would open anything: of a secret only its hash is kept. They are revoked and never deleted: a
-- store that has had one key stays closed to callers without one.
CREATE TABLE tenure.access_key (
    id            text        PRIMARY KEY,
    created_at    timestamptz NOT NULL,
    expires_at    timestamptz,
    revoked_at    timestamptz,
    last_used_at  timestamptz,
    digest        bytea       NOT NULL,
    name          text        NOT NULL,
    scopes        text        NOT NULL,           -- a JSON array, as those below
    definitions   text        NOT NULL,           -- the only ones that it may start or serve; empty for all
    queues        text        NOT NULL,           -- the only ones that it may serve; empty for all
    namespace     text                            -- the only one that it sees
) WITH (fillfactor = 50);

CREATE TRIGGER guard_key BEFORE UPDATE ON tenure.access_key FOR EACH ROW
    WHEN (NEW.id IS DISTINCT FROM OLD.id OR NEW.created_at IS DISTINCT FROM OLD.created_at
          OR NEW.expires_at IS DISTINCT FROM OLD.expires_at OR NEW.digest IS DISTINCT FROM OLD.digest
          OR NEW.name IS DISTINCT FROM OLD.name OR NEW.scopes IS DISTINCT FROM OLD.scopes
          OR NEW.definitions IS DISTINCT FROM OLD.definitions OR NEW.queues IS DISTINCT FROM OLD.queues
          OR NEW.namespace IS DISTINCT FROM OLD.namespace
          OR OLD.revoked_at IS NOT NULL AND NEW.revoked_at IS DISTINCT FROM OLD.revoked_at)
    EXECUTE FUNCTION tenure.refuse('a key stays what it is, and revoked once it was');
CREATE TRIGGER guard_delete BEFORE DELETE ON tenure.access_key FOR EACH STATEMENT
    EXECUTE FUNCTION tenure.refuse('what is on record stays as it is');
CREATE TRIGGER guard_truncate BEFORE TRUNCATE ON tenure.access_key FOR EACH STATEMENT
    EXECUTE FUNCTION tenure.refuse('what is on record stays as it is');

-- What was done by whom. A row is there before the deed is begun; how it ended is added, once.
CREATE TABLE tenure.audit (
    id       bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at       timestamptz NOT NULL,
    request  uuid        NOT NULL,
    key      text,
    who      text        NOT NULL,
    action   text        NOT NULL,
    target   text        NOT NULL,
    outcome  text
);

CREATE TRIGGER guard_record BEFORE UPDATE ON tenure.audit FOR EACH ROW
    WHEN (NEW.id IS DISTINCT FROM OLD.id OR NEW.at IS DISTINCT FROM OLD.at
          OR NEW.request IS DISTINCT FROM OLD.request OR NEW.key IS DISTINCT FROM OLD.key
          OR NEW.who IS DISTINCT FROM OLD.who OR NEW.action IS DISTINCT FROM OLD.action
          OR NEW.target IS DISTINCT FROM OLD.target
          OR OLD.outcome IS NOT NULL)
    EXECUTE FUNCTION tenure.refuse('what is on record stays as it is');
CREATE TRIGGER guard_delete BEFORE DELETE ON tenure.audit FOR EACH ROW
    WHEN (current_setting('tenure.pruning'::text, true) IS DISTINCT FROM 'on'::text)
    EXECUTE FUNCTION tenure.refuse('only retention deletes');
CREATE TRIGGER guard_truncate BEFORE TRUNCATE ON tenure.audit FOR EACH STATEMENT
    EXECUTE FUNCTION tenure.refuse('what is on record stays as it is');

-- Browsers that somebody has logged in from: what a cookie holds is kept as its hash. Whether a session opens something
-- is its key's affair at every look.
CREATE TABLE tenure.session (
    digest      bytea       PRIMARY KEY,
    key         text        NOT NULL,
    created_at  timestamptz NOT NULL,
    expires_at  timestamptz NOT NULL
);

CREATE TRIGGER guard_session BEFORE UPDATE ON tenure.session FOR EACH ROW
    EXECUTE FUNCTION tenure.refuse('a session stays what it is');
