-- reads-from: 1
-- How Tenure keeps jobs in PostgreSQL.
--
-- `job` is what was asked: written once, so large params never bloat anything. `job_state` is where the job
-- is: one narrow row that every step rewrites in place. None of its columns but the key is indexed, and it
-- is kept half empty, so that these rewrites stay inside their page (HOT); mutable columns stand together at
-- the end, so that a rewrite logs little. Jobs that may be claimed stand in `ready`, those that wait for the clock in
-- `timer`: both small, both emptied as jobs move on, so that a claim costs the same however much history
-- there is. `event`, `attempt`, `log` and `result` are only ever added to.
--
-- A claim takes a batch of jobs under one row of `lease`. Its id is the fence: it only grows, and a worker
-- that shows an older one changes nothing.
--
-- `mark` puts events in an order for readers of them all: the number of the transaction that wrote the
-- event, or that of the job's event before if it is higher, so that a job's own events stay in order. Below the
-- oldest transaction in flight nothing can be added any more: that far the feed may be read. Numbers of
-- transactions are the server's own: `counted` carries them on where a database was restored into another one.

CREATE TYPE tenure.state AS ENUM (
    'created', 'scheduled', 'queued', 'running', 'cancelling', 'retrying', 'suspended',
    'succeeded', 'failed', 'cancelled', 'buried'
);

-- The store's time. Every comparison with the present goes through here, so that tests can move it.
CREATE FUNCTION tenure.now() RETURNS timestamptz LANGUAGE sql STABLE AS 'SELECT pg_catalog.now()';

-- A number of the server's as this store counts. `tenure migrate --after-restore` replaces the summand, so that all
-- that comes has higher marks than all there is. Each of these is one expression, which the planner puts in place of
-- the call. (The functions with `xact` in their names give a type that cannot be added to.)
CREATE FUNCTION tenure.counted(number bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT number + 0';
CREATE FUNCTION tenure.mark() RETURNS bigint LANGUAGE sql STABLE
    AS 'SELECT tenure.counted(pg_catalog.txid_current())';
CREATE FUNCTION tenure.horizon() RETURNS bigint LANGUAGE sql STABLE
    AS 'SELECT tenure.counted(pg_catalog.txid_snapshot_xmin(pg_catalog.txid_current_snapshot()))';

-- Where a restore has cut history off: what followed `kept` is lost, and what came after the restore is above
-- `resumed`. A reader that stands in between has seen what never happened.
CREATE TABLE tenure.restore (
    kept     bigint      PRIMARY KEY,
    resumed  bigint      NOT NULL,
    at       timestamptz NOT NULL,
    store    uuid        NOT NULL                 -- the id of the store until then
);

-- Where queued jobs of one kind stand: the unit of claiming. Jobs under different limits stand in lines of
-- their own, so that one whose limit is used up does not hold up another. Only lines of schedules that are gone are deleted.
CREATE TABLE tenure.line (
    id          integer   GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    version     integer   NOT NULL,
    queue       text      NOT NULL,
    definition  text      NOT NULL,
    limits      integer[] NOT NULL DEFAULT '{}',  -- ids of tenure.limited, ascending
    share       text      NOT NULL DEFAULT '',    -- nothing writes another one yet, and look-ups mean this one
    UNIQUE (queue, definition, version, limits, share)
);

-- Lines of which nothing is claimed. Without a queue any is meant, and so with definition and version (0): all code that
-- knows this schema reads it so.
CREATE TABLE tenure.pause (
    queue       text        NOT NULL,
    definition  text        NOT NULL DEFAULT '',
    version     integer     NOT NULL DEFAULT 0,
    at          timestamptz NOT NULL,
    until       timestamptz,
    by          text        NOT NULL,
    reason      text,
    PRIMARY KEY (queue, definition, version)
);

-- A limit by its name, and the keys that jobs have brought for it. A limit without a size will be one that bounds only
-- a rate: a job every so many microseconds, and so many at once. Nothing writes such a limit yet, nor when a key opens
-- again, and no verb expects it: what does so first raises the number from which code can read the database.
CREATE TABLE tenure.limit_size (
    name      text    PRIMARY KEY,
    size      integer CHECK (size >= 1),
    every_us  bigint  CHECK (every_us >= 1),
    burst     integer CHECK (burst >= 1)
);
CREATE TABLE tenure.limited (
    id        integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name      text    NOT NULL,
    key       text    NOT NULL,
    opens_at  timestamptz,
    UNIQUE (name, key)
) WITH (fillfactor = 50);

-- Room for one job under a limit. A claim locks free ones and skips those that are locked: exact, and no claim
-- waits. Those with a number above the limit's size are left from when it was larger, and never taken.
CREATE TABLE tenure.slot (
    limited  integer  NOT NULL,
    n        smallint NOT NULL,
    is_held  boolean  NOT NULL DEFAULT false,     -- by the job whose row names it, and by no other
    PRIMARY KEY (limited, n)
) WITH (fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

CREATE TABLE tenure.job (
    id               uuid        PRIMARY KEY,
    line             integer     NOT NULL,
    priority         smallint    NOT NULL,
    max_attempts     smallint    NOT NULL,
    created_at       timestamptz NOT NULL,
    run_at           timestamptz,
    timeout_ms       integer     NOT NULL,
    grace_ms         integer     NOT NULL,
    backoff_base_ms  integer     NOT NULL,
    backoff_cap_ms   integer     NOT NULL,
    on_lost          text        NOT NULL CHECK (on_lost IN ('retry', 'bury')),
    namespace        text        NOT NULL,
    scope            text        NOT NULL,
    params           text        NOT NULL,
    params_hash      bytea,
    key              text COLLATE "C",
    retry_on         text,
    fatal_on         text,
    parent           uuid,
    replay_of        uuid,
    traceparent      text,
    tags             text,                        -- a JSON array; `tag` is for finding
    mark             bigint      NOT NULL DEFAULT tenure.mark()
);
CREATE UNIQUE INDEX job_key ON tenure.job (namespace, scope, key) WHERE key IS NOT NULL;
CREATE INDEX job_line ON tenure.job (line, id);
CREATE INDEX job_mark ON tenure.job (mark);
CREATE INDEX job_namespace ON tenure.job (namespace, id) WHERE namespace <> 'default';
CREATE INDEX job_replay ON tenure.job (replay_of) WHERE replay_of IS NOT NULL;
CREATE INDEX job_parent ON tenure.job (parent) WHERE parent IS NOT NULL;

CREATE TABLE tenure.tag (
    name  text NOT NULL,
    job   uuid NOT NULL,
    PRIMARY KEY (name, job)
);

CREATE TABLE tenure.job_state (
    id                   uuid         PRIMARY KEY,
    line                 integer      NOT NULL,
    rank                 smallint     NOT NULL,   -- place in line: lower first, so it is the priority negated
    max_attempts         smallint     NOT NULL,   -- a copy, so that settling need not read the job
    state                tenure.state NOT NULL,
    n                    integer      NOT NULL,   -- events so far; the job row itself is the first
    fence                bigint       NOT NULL DEFAULT 0,
    lease                bigint,
    seq                  bigint       NOT NULL DEFAULT 0,
    mark                 bigint       NOT NULL DEFAULT tenure.mark(),
    updated_at           timestamptz  NOT NULL,
    due_at               timestamptz,
    queued_at            timestamptz,
    started_at           timestamptz,
    finished_at          timestamptz,
    cancel_requested_at  timestamptz,
    suspensions          integer      NOT NULL DEFAULT 0,
    attempt              smallint     NOT NULL DEFAULT 0,
    failures             smallint     NOT NULL DEFAULT 0,
    hand_backs           smallint     NOT NULL DEFAULT 0,
    notes                smallint     NOT NULL DEFAULT 0,       -- how many of its events are notes of handlers or hooks
    has_result           boolean      NOT NULL DEFAULT false,   -- a result without it is no job's answer
    slots                text,                    -- numbers of slots, in the order of the line's limits
    progress             text,
    CONSTRAINT lease_is_fence   CHECK (lease = fence),
    CONSTRAINT attempts_bounded CHECK (attempt BETWEEN 0 AND max_attempts)
) WITH (fillfactor = 45);

CREATE SEQUENCE tenure.place;

CREATE TABLE tenure.ready (
    line  integer  NOT NULL,
    rank  smallint NOT NULL,
    seq   bigint   NOT NULL,
    job   uuid     NOT NULL,
    PRIMARY KEY (line, rank, seq)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);

-- The code has the list of kinds, and leaves those alone that it does not know: a newer one may have written them. The
-- key has the kind, so that two timers of a job which fall on the same microsecond do not refuse a settlement.
CREATE TABLE tenure.timer (
    due_at  timestamptz NOT NULL,                 -- held jobs wait at infinity
    job     uuid        NOT NULL,
    kind    text        NOT NULL,
    PRIMARY KEY (due_at, job, kind)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);

CREATE INDEX timer_kind ON tenure.timer (kind, job);

CREATE TABLE tenure.lease (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    expires_at    timestamptz NOT NULL,
    heartbeat_at  timestamptz NOT NULL,
    owner         text        NOT NULL,
    jobs          uuid[]      NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

CREATE TABLE tenure.event (
    job      uuid         NOT NULL,
    n        integer      NOT NULL,
    source   tenure.state NOT NULL,
    target   tenure.state NOT NULL,
    attempt  smallint     NOT NULL,
    fence    bigint       NOT NULL,
    at       timestamptz  NOT NULL,
    type     text         NOT NULL,
    actor    text         NOT NULL,
    reason   text,
    payload  text,                                -- of a note: an event that is no step
    mark     bigint       NOT NULL DEFAULT tenure.mark(),
    PRIMARY KEY (job, n)
);
CREATE INDEX event_mark ON tenure.event (mark);

CREATE TABLE tenure.attempt (
    job         uuid        NOT NULL,
    fence       bigint      NOT NULL,
    started_at  timestamptz NOT NULL,
    ended_at    timestamptz NOT NULL,
    cpu_ms      bigint,                       -- what its owner says it used; nothing where it did not say
    peak_bytes  bigint,
    exit_code   integer,
    signal      smallint,
    number      smallint    NOT NULL,
    ending      text        NOT NULL,
    worker      text        NOT NULL,
    error       text,
    PRIMARY KEY (job, fence)
);

-- What attempts wrote, line by line.
CREATE TABLE tenure.log (
    job     uuid        NOT NULL,
    fence   bigint      NOT NULL,
    at      timestamptz NOT NULL,
    n       integer     NOT NULL,
    level   text        NOT NULL,
    text    text        NOT NULL,
    fields  text,
    PRIMARY KEY (job, fence, n)
);

CREATE TABLE tenure.result (
    job   uuid PRIMARY KEY,
    body  text NOT NULL
);

-- The jobs that ended otherwise than well, so that no query has to look for them in all of history. Dead letters of one
-- definition that died of the same bear the same fingerprint: the definition, and twelve digits made of the error.
CREATE TABLE tenure.finished (
    at           timestamptz  NOT NULL,
    state        tenure.state NOT NULL,
    job          uuid         NOT NULL,
    fingerprint  text COLLATE "C",
    PRIMARY KEY (state, job)
);
CREATE INDEX finished_of ON tenure.finished (fingerprint, job) WHERE fingerprint IS NOT NULL;
CREATE INDEX finished_of_at ON tenure.finished (fingerprint, at, job) WHERE fingerprint IS NOT NULL;

-- Jobs that ended otherwise than by the word of their owner, which would have run their hooks: a worker that serves them takes
-- each out, once. Only those whose definition has hooks are here.
CREATE TABLE tenure.aftermath (
    version     integer NOT NULL,
    job         uuid    NOT NULL,
    queue       text    NOT NULL,
    definition  text    NOT NULL,
    PRIMARY KEY (queue, definition, version, job)
);

-- Jobs that a verb met and the database refused to move, for a reason that lies in its rows: put aside by the process that met
-- them, so that none meets them again until an operator has mended them and puts them back. Their state stays as it is.
-- What an attempt reported is kept until then; `kind` is what its timer was for.
CREATE TABLE tenure.aside (
    job         uuid        PRIMARY KEY,
    fence       bigint      NOT NULL,         -- of the attempt that was under way; 0 where none was
    at          timestamptz NOT NULL,
    cpu_ms      bigint,
    peak_bytes  bigint,
    exit_code   integer,
    signal      smallint,
    verb        text        NOT NULL CHECK (verb IN ('settle', 'claim', 'promote', 'reap', 'hand_back', 'heartbeat')),
    by          text        NOT NULL,
    code        text,                         -- what the database calls its reason, where it does
    text        text        NOT NULL,
    owner       text,
    kind        text,
    ending      text,
    result      text,
    error       text,
    after       interval
);

-- How many jobs of a line are in a state: the sum of n. Each step only adds rows, so that no step waits for a
-- neighbour's total; `tidy` folds them. Those that were removed stay under line 0, which no job stands in.
CREATE TABLE tenure.tally (
    line   integer      NOT NULL,
    state  tenure.state NOT NULL,
    n      bigint       NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

-- How many jobs had ever ended at about the beginning of a minute, by state, and by class of length how long those of
-- the minute before had waited and run: JSON objects all. What charts are drawn from. `detail` has the same of single
-- definitions; the first minute of an hour has that of the hour before as `hour`.
CREATE TABLE tenure.pace (
    minute_at  timestamptz PRIMARY KEY,
    ended      text        NOT NULL,
    waits      text        NOT NULL,
    runs       text        NOT NULL,
    detail     text,
    hour       text
);

-- How long finished jobs are kept, in milliseconds after their end: by definition, and under '' for all. What a definition
-- leaves empty is as for all; log lines without a time of their own go with their job.
CREATE TABLE tenure.retention (
    succeeded_ms  bigint      CHECK (succeeded_ms >= 0),
    others_ms     bigint      CHECK (others_ms >= 0),
    keyed_ms      bigint      CHECK (keyed_ms >= 0),
    log_ms        bigint      CHECK (log_ms >= 0),
    at            timestamptz NOT NULL,
    definition    text        PRIMARY KEY,
    by            text        NOT NULL,
    CONSTRAINT whole_for_all CHECK (definition <> '' OR num_nulls(succeeded_ms, others_ms, keyed_ms) = 0)
);
INSERT INTO tenure.retention (definition, succeeded_ms, others_ms, keyed_ms, by, at)
VALUES ('', 604800000, 2592000000, 604800000, 'migration', tenure.now());

-- The store itself, one row: an id that no other store has, for messages that leave it.
CREATE TABLE tenure.store (
    is_only  boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    id       uuid    NOT NULL
);
INSERT INTO tenure.store (id) VALUES (gen_random_uuid());

CREATE TABLE tenure.definition (
    key            text        NOT NULL,
    version        integer     NOT NULL,
    spec           text        NOT NULL,
    override       text,
    registered_at  timestamptz NOT NULL,
    registered_by  text        NOT NULL,
    PRIMARY KEY (key, version)
);

CREATE TABLE tenure.worker (
    id                  text        PRIMARY KEY,
    pid                 integer     NOT NULL,
    slots               integer     NOT NULL,
    host                text        NOT NULL,
    version             text        NOT NULL,
    lines               text        NOT NULL,     -- a JSON array of [queue, definition, version]
    started_at          timestamptz NOT NULL,
    seen_at             timestamptz NOT NULL,
    drain_requested_at  timestamptz,
    is_ready            boolean     NOT NULL DEFAULT false   -- whether it could claim, when it was last seen
) WITH (fillfactor = 50);
