-- reads-from: 5
-- Progress that outlives an attempt: steps, checkpoints, what a job waits for, and the signals sent to it: as on
-- PostgreSQL, for the same reasons. A transaction of a handler's own cannot keep a step: it would need the one writer.

-- A step is finished once it is `done` or `skipped`, and never changes then. One that is `intended` is in doubt unless its
-- fence is that of the job's present lease. `size` is the length of `body` in bytes, so that a list need not read it, and
-- `n` puts the steps of a job in the order in which they were first kept. What is `done` without a body had a result that
-- was refused.
CREATE TABLE tenure_step (
    n            INTEGER PRIMARY KEY,
    job          TEXT    NOT NULL,
    name         TEXT    NOT NULL,
    kind         TEXT    NOT NULL,
    status       TEXT    NOT NULL,
    fence        INTEGER NOT NULL,
    at           INTEGER NOT NULL,
    until_at     INTEGER,                     -- when a sleep or a wait ends by itself
    size         INTEGER,
    call         TEXT    NOT NULL DEFAULT '',
    answered_by  TEXT,                        -- who has said whether it happened
    body         TEXT,
    UNIQUE (job, name)
) STRICT;
CREATE INDEX tenure_step_order ON tenure_step (job, n);
CREATE INDEX tenure_step_intended ON tenure_step (job) WHERE status = 'intended';
CREATE INDEX tenure_step_intended_at ON tenure_step (at, job) WHERE status = 'intended';

-- How many steps a job has kept and how many bytes, so that nobody has to count them, and the fence under which it kept
-- the last one.
CREATE TABLE tenure_kept (
    job    TEXT    PRIMARY KEY NOT NULL,
    fence  INTEGER NOT NULL,
    steps  INTEGER NOT NULL,
    bytes  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE tenure_checkpoint (
    job    TEXT    PRIMARY KEY NOT NULL,
    fence  INTEGER NOT NULL,
    at     INTEGER NOT NULL,
    body   TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

-- What a suspended job waits for. A row counts only while its fence is the job's and the job is suspended.
CREATE TABLE tenure_wait (
    job     TEXT    PRIMARY KEY NOT NULL,
    fence   INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    kind    TEXT    NOT NULL,
    step    TEXT    NOT NULL,
    signal  TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX tenure_wait_signal ON tenure_wait (signal, job) WHERE signal IS NOT NULL;

-- What a job was told, before or while it waits for it. The first of a name stands.
CREATE TABLE tenure_signal (
    job   TEXT    NOT NULL,
    name  TEXT    NOT NULL,
    at    INTEGER NOT NULL,
    by    TEXT    NOT NULL,
    body  TEXT    NOT NULL,
    PRIMARY KEY (job, name)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER tenure_guard_step_change BEFORE UPDATE ON tenure_step
BEGIN SELECT RAISE(ABORT, 'tenure: step: a finished step never changes, nor does the fence of a step fall')
    WHERE OLD.status IN ('done', 'skipped') OR NEW.fence < OLD.fence OR NEW.job <> OLD.job OR NEW.name <> OLD.name; END;

CREATE TRIGGER tenure_guard_step_delete BEFORE DELETE ON tenure_step
BEGIN SELECT RAISE(ABORT, 'tenure: step: steps go with their job, or by the word of its handler')
    WHERE NOT EXISTS (SELECT 1 FROM tenure_permit); END;

CREATE TRIGGER tenure_guard_step_insert BEFORE INSERT ON tenure_step
BEGIN SELECT RAISE(ABORT, 'tenure: step: what is on record stays as it is')
    WHERE EXISTS (SELECT 1 FROM tenure_step WHERE job = NEW.job AND name = NEW.name OR n = NEW.n); END;

CREATE TRIGGER tenure_guard_signal_update BEFORE UPDATE ON tenure_signal
BEGIN SELECT RAISE(ABORT, 'tenure: signal: what is on record stays as it is'); END;

CREATE TRIGGER tenure_guard_signal_delete BEFORE DELETE ON tenure_signal
BEGIN SELECT RAISE(ABORT, 'tenure: signal: only retention deletes, and only finished jobs')
    WHERE NOT EXISTS (SELECT 1 FROM tenure_permit); END;

CREATE TRIGGER tenure_guard_signal_insert BEFORE INSERT ON tenure_signal
BEGIN SELECT RAISE(ABORT, 'tenure: signal: what is on record stays as it is')
    WHERE EXISTS (SELECT 1 FROM tenure_signal WHERE job = NEW.job AND name = NEW.name); END;
