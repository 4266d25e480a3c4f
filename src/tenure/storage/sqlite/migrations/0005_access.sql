-- reads-from: 5
-- Who may do what over HTTP, and who did: as on PostgreSQL, for the same reasons.

-- The access key by which a job was asked for, where one was.
ALTER TABLE tenure_job ADD COLUMN creator TEXT;

-- Keys, without what would open anything: of a secret only its hash is kept. They are revoked and never deleted: a
-- store that has had one key stays closed to callers without one.
CREATE TABLE tenure_access_key (
    id            TEXT    PRIMARY KEY NOT NULL,
    created_at    INTEGER NOT NULL,
    expires_at    INTEGER,
    revoked_at    INTEGER,
    last_used_at  INTEGER,
    digest        BLOB    NOT NULL,
    name          TEXT    NOT NULL,
    scopes        TEXT    NOT NULL,          -- a JSON array, as those below
    definitions   TEXT    NOT NULL,          -- the only ones that it may start or serve; empty for all
    queues        TEXT    NOT NULL,          -- the only ones that it may serve; empty for all
    namespace     TEXT                       -- the only one that it sees
) STRICT, WITHOUT ROWID;

CREATE TRIGGER tenure_guard_key_update BEFORE UPDATE ON tenure_access_key
    WHEN (NEW.id, NEW.created_at, NEW.digest, NEW.name, NEW.scopes, NEW.definitions, NEW.queues)
         <> (OLD.id, OLD.created_at, OLD.digest, OLD.name, OLD.scopes, OLD.definitions, OLD.queues)
      OR NEW.expires_at IS NOT OLD.expires_at OR NEW.namespace IS NOT OLD.namespace
      OR OLD.revoked_at IS NOT NULL AND NEW.revoked_at IS NOT OLD.revoked_at
BEGIN SELECT RAISE(ABORT, 'tenure: access_key: a key stays what it is, and revoked once it was'); END;

CREATE TRIGGER tenure_guard_key_delete BEFORE DELETE ON tenure_access_key
BEGIN SELECT RAISE(ABORT, 'tenure: access_key: what is on record stays as it is'); END;

CREATE TRIGGER tenure_guard_key_replace BEFORE INSERT ON tenure_access_key
    WHEN EXISTS (SELECT 1 FROM tenure_access_key WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'tenure: access_key: what is on record stays as it is'); END;

-- What was done by whom. A row is there before the deed is begun; how it ended is added, once.
CREATE TABLE tenure_audit (
    id       INTEGER PRIMARY KEY,
    at       INTEGER NOT NULL,
    request  TEXT    NOT NULL,
    key      TEXT,
    who      TEXT    NOT NULL,
    action   TEXT    NOT NULL,
    target   TEXT    NOT NULL,
    outcome  TEXT
) STRICT;

CREATE TRIGGER tenure_guard_audit_update BEFORE UPDATE ON tenure_audit
    WHEN (NEW.id, NEW.at, NEW.request, NEW.who, NEW.action, NEW.target)
         <> (OLD.id, OLD.at, OLD.request, OLD.who, OLD.action, OLD.target)
      OR NEW.key IS NOT OLD.key OR OLD.outcome IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'tenure: audit: what is on record stays as it is'); END;

CREATE TRIGGER tenure_guard_audit_delete BEFORE DELETE ON tenure_audit
    WHEN NOT EXISTS (SELECT 1 FROM tenure_permit)
BEGIN SELECT RAISE(ABORT, 'tenure: audit: only retention deletes'); END;

CREATE TRIGGER tenure_guard_audit_replace BEFORE INSERT ON tenure_audit
    WHEN EXISTS (SELECT 1 FROM tenure_audit WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'tenure: audit: what is on record stays as it is'); END;

-- Browsers that somebody has logged in from: what a cookie holds is kept as its hash. Whether a session opens something
-- is its key's affair at every look.
CREATE TABLE tenure_session (
    digest      BLOB    PRIMARY KEY NOT NULL,
    key         TEXT    NOT NULL,
    created_at  INTEGER NOT NULL,
    expires_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TRIGGER tenure_guard_session_update BEFORE UPDATE ON tenure_session
BEGIN SELECT RAISE(ABORT, 'tenure: session: a session stays what it is'); END;
