-- How Tenure keeps jobs in PostgreSQL.
--
-- `job` is what was asked: written once, so large params never bloat anything. `job_state` is where the job
-- is: one narrow row that every step rewrites in place. None of its columns but the key is indexed, and it
-- is kept half empty, so that these rewrites stay inside their page (HOT); mutable columns stand together at
-- the end, so that a rewrite logs little. Who may be claimed stands in `ready`, who waits for the clock in
-- `timer`: both small, both emptied as jobs move on, so that a claim costs the same however much history
-- there is. `event`, `attempt` and `result` are only ever added to.
--
-- A claim takes a batch of jobs under one row of `lease`. Its id is the fence: it only grows, and whoever
-- shows an older one changes nothing.

CREATE TYPE tenure.state AS ENUM (
    'created', 'scheduled', 'queued', 'running', 'cancelling', 'retrying', 'suspended',
    'succeeded', 'failed', 'cancelled', 'buried'
);

-- The store's time. Every comparison with the present goes through here, so that tests can move it.
CREATE FUNCTION tenure.now() RETURNS timestamptz LANGUAGE sql STABLE AS 'SELECT pg_catalog.now()';

-- Where queued jobs of one kind stand: the unit a worker serves. Lines are never deleted.
CREATE TABLE tenure.line (
    id          integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    version     integer NOT NULL,
    queue       text    NOT NULL,
    definition  text    NOT NULL,
    UNIQUE (queue, definition, version)
);

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
    traceparent      text
);
CREATE UNIQUE INDEX job_key ON tenure.job (namespace, scope, key) WHERE key IS NOT NULL;

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
    has_result           boolean      NOT NULL DEFAULT false,   -- a result without it is nobody's answer
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

CREATE TABLE tenure.timer (
    due_at  timestamptz NOT NULL,                 -- held jobs wait at infinity
    job     uuid        NOT NULL,
    kind    text        NOT NULL CHECK (kind IN ('hold', 'scheduled', 'retry', 'resume', 'give_up')),
    PRIMARY KEY (due_at, job)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);

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
    PRIMARY KEY (job, n)
);

CREATE TABLE tenure.attempt (
    job         uuid        NOT NULL,
    fence       bigint      NOT NULL,
    started_at  timestamptz NOT NULL,
    ended_at    timestamptz NOT NULL,
    number      smallint    NOT NULL,
    ending      text        NOT NULL,
    worker      text        NOT NULL,
    error       text,
    PRIMARY KEY (job, fence)
);

CREATE TABLE tenure.result (
    job   uuid PRIMARY KEY,
    body  text NOT NULL
);
