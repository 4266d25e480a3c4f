-- reads-from: 5
-- Webhooks: endpoints that are told of events, and what is on its way to each: as on PostgreSQL, for the same reasons.

-- What was asked for and how the endpoint does. Positions in the feed are texts: behind `begins_behind` a webhook gets
-- events; up to `paused_behind` they were fanned out when it was paused. It is not tried before `open_at`, and gently for
-- a minute from `recovered_at` on; what waits is counted from `count_at` on.
CREATE TABLE tenure_webhook (
    id            TEXT    PRIMARY KEY NOT NULL,
    created_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL,
    paused_at     INTEGER,
    failing_at    INTEGER,
    open_at       INTEGER,
    recovered_at  INTEGER,
    delivered_at  INTEGER,
    count_at      INTEGER NOT NULL,
    failures      INTEGER NOT NULL DEFAULT 0,
    revision      INTEGER NOT NULL DEFAULT 1,
    rotation      INTEGER NOT NULL DEFAULT 1,
    namespace     TEXT,
    creator       TEXT,
    begins_behind TEXT    NOT NULL,
    paused_behind TEXT,
    paused_by     TEXT,
    reason        TEXT,
    spec          TEXT    NOT NULL       -- JSON: where to send which events
) STRICT, WITHOUT ROWID;

-- What signs, by the number of its rotation; where it is derived, there is no text. Nothing that lists webhooks reads it.
CREATE TABLE tenure_webhook_secret (
    webhook   TEXT    NOT NULL,
    rotation  INTEGER NOT NULL,
    until_at  INTEGER,                   -- of one that was replaced
    text      TEXT,
    PRIMARY KEY (webhook, rotation)
) STRICT, WITHOUT ROWID;

-- How far the feed was fanned out: one row, 'webhooks', while there is a webhook, and one for each that catches up, which
-- ends at `until_position` and leaves out what happened before `since_at`. What is not behind the lowest is not pruned.
-- `generation` counts changes of the webhooks: who moves a cursor names the one that it has read.
CREATE TABLE tenure_cursor (
    name            TEXT    PRIMARY KEY NOT NULL,
    mark            INTEGER NOT NULL,
    job             TEXT    NOT NULL,
    n               INTEGER NOT NULL,
    webhook         TEXT,
    generation      INTEGER NOT NULL,
    held_at         INTEGER NOT NULL,    -- when it was taken last
    held_until      INTEGER,
    since_at        INTEGER,
    again           INTEGER NOT NULL DEFAULT 0,
    holder          TEXT,
    until_position  TEXT
) STRICT, WITHOUT ROWID;

-- An event on its way to an endpoint. While it is held, `next_at` is when the hold ends.
CREATE TABLE tenure_delivery (
    webhook     TEXT    NOT NULL,
    message     TEXT    NOT NULL,
    job         TEXT,
    at          INTEGER NOT NULL,
    noted_at    INTEGER NOT NULL,
    next_at     INTEGER,
    tried_at    INTEGER,
    took_us     INTEGER,
    n           INTEGER NOT NULL,
    tries       INTEGER NOT NULL DEFAULT 0,
    status      INTEGER,
    type        TEXT    NOT NULL,
    state       TEXT    NOT NULL DEFAULT 'waiting',
    holder      TEXT,
    problem     TEXT,
    body        TEXT    NOT NULL,
    PRIMARY KEY (webhook, message)
) STRICT;
CREATE INDEX tenure_delivery_due ON tenure_delivery (webhook, next_at) WHERE state = 'waiting';
CREATE INDEX tenure_delivery_held ON tenure_delivery (webhook, next_at) WHERE holder IS NOT NULL;
CREATE INDEX tenure_delivery_noted ON tenure_delivery (webhook, state, noted_at, message);
