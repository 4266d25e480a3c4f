-- reads-from: 1
-- How Tenure keeps jobs in SQLite: the same tables as on PostgreSQL, for the same reasons.
--
-- `job` is what was asked, written once; `job_state` is where the job is, one narrow row; `ready` holds the jobs
-- that may be claimed, `timer` those that wait for the clock: both small, so that a claim costs the same however much
-- history there is. `event`, `attempt`, `log` and `result` are only ever added to. A claim takes a batch of jobs under
-- one row of `lease`; its id is the fence, which only grows. Times are microseconds since 1970.
--
-- `mark` is the number of the transaction that wrote an event. There is one writer at a time, so marks are in the
-- order of commits.

CREATE TABLE tenure_line (
    id          INTEGER PRIMARY KEY,
    version     INTEGER NOT NULL,
    queue       TEXT    NOT NULL,
    definition  TEXT    NOT NULL,
    limits      TEXT    NOT NULL DEFAULT '[]',   -- a JSON array of ids of tenure_limited, ascending
    share       TEXT    NOT NULL DEFAULT '',     -- nothing writes another one yet, and look-ups mean this one
    UNIQUE (queue, definition, version, limits, share)
) STRICT;

-- Lines of which nothing is claimed. Without a queue any is meant, and so with definition and version (0): all code that
-- knows this schema reads it so.
CREATE TABLE tenure_pause (
    queue       TEXT    NOT NULL,
    definition  TEXT    NOT NULL DEFAULT '',
    version     INTEGER NOT NULL DEFAULT 0,
    at          INTEGER NOT NULL,
    until       INTEGER,
    by          TEXT    NOT NULL,
    reason      TEXT,
    PRIMARY KEY (queue, definition, version)
) STRICT, WITHOUT ROWID;

-- A limit by its name, and the keys that jobs have brought for it, with how many run. One writer at a time: a
-- number is enough. A limit without a size will be one that bounds only a rate: a job every so many microseconds, and so
-- many at once. Nothing writes such a limit yet, nor when a key opens again, and no verb expects it: what does so first
-- raises the number from which code can read the database.
CREATE TABLE tenure_limit_size (
    name      TEXT    PRIMARY KEY NOT NULL,
    size      INTEGER CHECK (size >= 1),
    every_us  INTEGER CHECK (every_us >= 1),
    burst     INTEGER CHECK (burst >= 1)
) STRICT, WITHOUT ROWID;
CREATE TABLE tenure_limited (
    id        INTEGER PRIMARY KEY,
    name      TEXT    NOT NULL,
    key       TEXT    NOT NULL,
    held      INTEGER NOT NULL DEFAULT 0 CHECK (held >= 0),
    opens_at  INTEGER,
    UNIQUE (name, key)
) STRICT;

CREATE TABLE tenure_job (
    id               TEXT    PRIMARY KEY NOT NULL,
    line             INTEGER NOT NULL,
    priority         INTEGER NOT NULL,
    max_attempts     INTEGER NOT NULL,
    created_at       INTEGER NOT NULL,
    run_at           INTEGER,
    timeout_ms       INTEGER NOT NULL,
    grace_ms         INTEGER NOT NULL,
    backoff_base_ms  INTEGER NOT NULL,
    backoff_cap_ms   INTEGER NOT NULL,
    on_lost          TEXT    NOT NULL CHECK (on_lost IN ('retry', 'bury')),
    namespace        TEXT    NOT NULL,
    scope            TEXT    NOT NULL,
    params           TEXT    NOT NULL,
    params_hash      BLOB,
    key              TEXT,
    retry_on         TEXT,
    fatal_on         TEXT,
    parent           TEXT,
    replay_of        TEXT,
    traceparent      TEXT,
    tags             TEXT,                       -- a JSON array; `tenure_tag` is for finding
    mark             INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX tenure_job_key ON tenure_job (namespace, scope, key) WHERE key IS NOT NULL;
CREATE INDEX tenure_job_line ON tenure_job (line, id);
CREATE INDEX tenure_job_mark ON tenure_job (mark, id);
CREATE INDEX tenure_job_namespace ON tenure_job (namespace, id) WHERE namespace <> 'default';
CREATE INDEX tenure_job_replay ON tenure_job (replay_of) WHERE replay_of IS NOT NULL;
CREATE INDEX tenure_job_parent ON tenure_job (parent) WHERE parent IS NOT NULL;

CREATE TABLE tenure_tag (
    name  TEXT NOT NULL,
    job   TEXT NOT NULL,
    PRIMARY KEY (name, job)
) STRICT, WITHOUT ROWID;

CREATE TABLE tenure_job_state (
    id                   TEXT    PRIMARY KEY NOT NULL,
    line                 INTEGER NOT NULL,
    rank                 INTEGER NOT NULL,   -- place in line: lower first, so it is the priority negated
    max_attempts         INTEGER NOT NULL,
    state                TEXT    NOT NULL,
    n                    INTEGER NOT NULL,   -- events so far; the job row itself is the first
    fence                INTEGER NOT NULL DEFAULT 0,
    lease                INTEGER,
    seq                  INTEGER NOT NULL DEFAULT 0,
    updated_at           INTEGER NOT NULL,
    due_at               INTEGER,
    queued_at            INTEGER,
    started_at           INTEGER,
    finished_at          INTEGER,
    cancel_requested_at  INTEGER,
    suspensions          INTEGER NOT NULL DEFAULT 0,
    attempt              INTEGER NOT NULL DEFAULT 0,
    failures             INTEGER NOT NULL DEFAULT 0,
    hand_backs           INTEGER NOT NULL DEFAULT 0,
    notes                INTEGER NOT NULL DEFAULT 0,   -- how many of its events are notes of handlers or hooks
    has_result           INTEGER NOT NULL DEFAULT 0,   -- a result without it is no job's answer
    progress             TEXT,
    CONSTRAINT lease_while_owned CHECK ((state IN ('running', 'cancelling')) = (lease IS NOT NULL)),
    CONSTRAINT lease_is_fence    CHECK (lease = fence),
    CONSTRAINT attempts_bounded  CHECK (attempt BETWEEN 0 AND max_attempts)
) STRICT, WITHOUT ROWID;

CREATE TABLE tenure_ready (
    line  INTEGER NOT NULL,
    rank  INTEGER NOT NULL,
    seq   INTEGER NOT NULL,
    job   TEXT    NOT NULL,
    PRIMARY KEY (line, rank, seq)
) STRICT, WITHOUT ROWID;

-- The code has the list of kinds, and leaves those alone that it does not know: a newer one may have written them. The
-- key has the kind, so that two timers of a job which fall on the same microsecond do not refuse a settlement.
CREATE TABLE tenure_timer (
    due_at  INTEGER NOT NULL,                -- held jobs wait at the end of time
    job     TEXT    NOT NULL,
    kind    TEXT    NOT NULL,
    PRIMARY KEY (due_at, job, kind)
) STRICT, WITHOUT ROWID;

CREATE INDEX tenure_timer_kind ON tenure_timer (kind, job);

CREATE TABLE tenure_lease (
    id            INTEGER PRIMARY KEY,
    expires_at    INTEGER NOT NULL,
    heartbeat_at  INTEGER NOT NULL,
    owner         TEXT    NOT NULL,
    jobs          TEXT    NOT NULL           -- a JSON array of ids
) STRICT;

CREATE TABLE tenure_event (
    job      TEXT    NOT NULL,
    n        INTEGER NOT NULL,
    source   TEXT    NOT NULL,
    target   TEXT    NOT NULL,
    attempt  INTEGER NOT NULL,
    fence    INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    type     TEXT    NOT NULL,
    actor    TEXT    NOT NULL,
    reason   TEXT,
    payload  TEXT,                           -- of a note: an event that is no step
    mark     INTEGER NOT NULL,
    PRIMARY KEY (job, n)
) STRICT, WITHOUT ROWID;
CREATE INDEX tenure_event_mark ON tenure_event (mark, job, n);

CREATE TABLE tenure_attempt (
    job         TEXT    NOT NULL,
    fence       INTEGER NOT NULL,
    started_at  INTEGER NOT NULL,
    ended_at    INTEGER NOT NULL,
    number      INTEGER NOT NULL,
    ending      TEXT    NOT NULL,
    worker      TEXT    NOT NULL,
    error       TEXT,
    cpu_ms      INTEGER,                     -- what its owner says it used; nothing where it did not say
    peak_bytes  INTEGER,
    exit_code   INTEGER,
    signal      INTEGER,
    PRIMARY KEY (job, fence)
) STRICT, WITHOUT ROWID;

-- What attempts wrote, line by line.
CREATE TABLE tenure_log (
    job     TEXT    NOT NULL,
    fence   INTEGER NOT NULL,
    n       INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    level   TEXT    NOT NULL,
    text    TEXT    NOT NULL,
    fields  TEXT,
    PRIMARY KEY (job, fence, n)
) STRICT, WITHOUT ROWID;

CREATE TABLE tenure_result (
    job   TEXT PRIMARY KEY NOT NULL,
    body  TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The jobs that ended otherwise than well, so that no query has to look for them in all of history. Dead letters of one
-- definition that died of the same bear the same fingerprint: the definition, and twelve digits made of the error.
CREATE TABLE tenure_finished (
    state        TEXT    NOT NULL,
    job          TEXT    NOT NULL,
    at           INTEGER NOT NULL,
    fingerprint  TEXT,
    PRIMARY KEY (state, job)
) STRICT, WITHOUT ROWID;
CREATE INDEX tenure_finished_of ON tenure_finished (fingerprint, job) WHERE fingerprint IS NOT NULL;
CREATE INDEX tenure_finished_of_at ON tenure_finished (fingerprint, at, job) WHERE fingerprint IS NOT NULL;

-- Jobs that ended otherwise than by the word of their owner, which would have run their hooks: a worker that serves them takes
-- each out, once. Only those whose definition has hooks are here.
CREATE TABLE tenure_aftermath (
    queue       TEXT    NOT NULL,
    definition  TEXT    NOT NULL,
    version     INTEGER NOT NULL,
    job         TEXT    NOT NULL,
    PRIMARY KEY (queue, definition, version, job)
) STRICT, WITHOUT ROWID;

-- Jobs that a verb met and the database refused to move, for a reason that lies in its rows: put aside by the process that met
-- them, so that none meets them again until an operator has mended them and puts them back. Their state stays as it is.
-- What an attempt reported is kept until then; `kind` is what its timer was for.
CREATE TABLE tenure_aside (
    job         TEXT    PRIMARY KEY NOT NULL,
    fence       INTEGER NOT NULL,            -- of the attempt that was under way; 0 where none was
    at          INTEGER NOT NULL,
    verb        TEXT    NOT NULL CHECK (verb IN ('settle', 'claim', 'promote', 'reap', 'hand_back', 'heartbeat')),
    by          TEXT    NOT NULL,
    code        TEXT,                        -- what the database calls its reason, where it does
    text        TEXT    NOT NULL,
    owner       TEXT,
    kind        TEXT,
    ending      TEXT,
    result      TEXT,
    error       TEXT,
    after       INTEGER,
    cpu_ms      INTEGER,
    peak_bytes  INTEGER,
    exit_code   INTEGER,
    signal      INTEGER
) STRICT, WITHOUT ROWID;

-- How many jobs of a line are in a state. Those that were removed stay under line 0, which no job stands in.
CREATE TABLE tenure_tally (
    line   INTEGER NOT NULL,
    state  TEXT    NOT NULL,
    n      INTEGER NOT NULL,
    PRIMARY KEY (line, state)
) STRICT, WITHOUT ROWID;

-- How many jobs had ever ended at about the beginning of a minute, by state, and by class of length how long those of
-- the minute before had waited and run: JSON objects all. What charts are drawn from.
CREATE TABLE tenure_pace (
    minute_at  INTEGER PRIMARY KEY,
    ended      TEXT    NOT NULL,
    waits      TEXT    NOT NULL,
    runs       TEXT    NOT NULL,
    detail     TEXT,
    hour       TEXT
) STRICT;

-- How long finished jobs are kept, in milliseconds after their end: by definition, and under '' for all. What a definition
-- leaves empty is as for all; log lines without a time of their own go with their job.
CREATE TABLE tenure_retention (
    definition    TEXT    PRIMARY KEY NOT NULL,
    succeeded_ms  INTEGER CHECK (succeeded_ms >= 0),
    others_ms     INTEGER CHECK (others_ms >= 0),
    keyed_ms      INTEGER CHECK (keyed_ms >= 0),
    log_ms        INTEGER CHECK (log_ms >= 0),
    by            TEXT    NOT NULL,
    at            INTEGER NOT NULL,
    CONSTRAINT whole_for_all CHECK (definition <> '' OR succeeded_ms + others_ms + keyed_ms IS NOT NULL)
) STRICT, WITHOUT ROWID;
INSERT INTO tenure_retention (definition, succeeded_ms, others_ms, keyed_ms, by, at)
VALUES ('', 604800000, 2592000000, 604800000, 'migration', 1000000 * unixepoch());

-- The store itself, one row: an id that no other store has, for messages that leave it. It is a UUID of random bits.
CREATE TABLE tenure_store (
    is_only  INTEGER PRIMARY KEY DEFAULT 1 CHECK (is_only = 1),
    id       TEXT    NOT NULL
) STRICT;
INSERT INTO tenure_store (id)
SELECT printf('%s-%s-4%s-%s%s-%s', substr(bits, 1, 8), substr(bits, 9, 4), substr(bits, 14, 3),
              substr('89ab', 1 + abs(random() % 4), 1), substr(bits, 18, 3), substr(bits, 21))
  FROM (SELECT lower(hex(randomblob(16))) AS bits);

CREATE TABLE tenure_definition (
    key            TEXT    NOT NULL,
    version        INTEGER NOT NULL,
    spec           TEXT    NOT NULL,
    override       TEXT,
    registered_at  INTEGER NOT NULL,
    registered_by  TEXT    NOT NULL,
    PRIMARY KEY (key, version)
) STRICT, WITHOUT ROWID;

CREATE TABLE tenure_worker (
    id                  TEXT    PRIMARY KEY NOT NULL,
    pid                 INTEGER NOT NULL,
    slots               INTEGER NOT NULL,
    host                TEXT    NOT NULL,
    version             TEXT    NOT NULL,
    lines               TEXT    NOT NULL,        -- a JSON array of [queue, definition, version]
    started_at          INTEGER NOT NULL,
    seen_at             INTEGER NOT NULL,
    drain_requested_at  INTEGER,
    is_ready            INTEGER NOT NULL DEFAULT 0   -- whether it could claim, when it was last seen
) STRICT, WITHOUT ROWID;

-- While a row is here, finished jobs may be deleted. Pruning puts it in and takes it out in one transaction, so
-- no other transaction ever sees it.
CREATE TABLE tenure_permit (
    pruning  INTEGER PRIMARY KEY
) STRICT;

-- Where a restore has cut history off: what followed `kept` is lost, and what came after the restore is above
-- `resumed`. A reader that stands in between has seen what never happened.
CREATE TABLE tenure_restore (
    kept     INTEGER PRIMARY KEY,
    resumed  INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    store    TEXT    NOT NULL                    -- the id of the store until then
) STRICT;

-- Numbers that only grow: the next place in line, the next fence, the last transaction, how often jobs that run were
-- asked to stop, and the latest time this store has seen, so that a clock set back never takes the store's time back
-- with it.
CREATE TABLE tenure_sequence (
    name  TEXT    PRIMARY KEY NOT NULL,
    n     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO tenure_sequence VALUES ('place', 0), ('fence', 0), ('mark', 0), ('clock', 0), ('stop', 0);
