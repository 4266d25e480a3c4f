-- reads-from: 5
-- Webhooks: endpoints that are told of events, and what is on its way to each.

-- What was asked for and how the endpoint does. Positions in the feed are texts: behind `begins_behind` a webhook gets
-- events; up to `paused_behind` they were fanned out when it was paused. It is not tried before `open_at`, and gently for
-- a minute from `recovered_at` on; what waits is counted from `count_at` on.
CREATE TABLE tenure.webhook (
    id            uuid        PRIMARY KEY,
    created_at    timestamptz NOT NULL,
    updated_at    timestamptz NOT NULL,
    paused_at     timestamptz,
    failing_at    timestamptz,
    open_at       timestamptz,
    recovered_at  timestamptz,
    delivered_at  timestamptz,
    count_at      timestamptz NOT NULL,
    failures      integer     NOT NULL DEFAULT 0,
    revision      integer     NOT NULL DEFAULT 1,
    rotation      integer     NOT NULL DEFAULT 1,
    namespace     text,
    creator       text,
    begins_behind text        NOT NULL,
    paused_behind text,
    paused_by     text,
    reason        text,
    spec          text        NOT NULL    -- JSON: where to send which events
) WITH (fillfactor = 50);

-- What signs, by the number of its rotation; where it is derived, there is no text. Nothing that lists webhooks reads it.
CREATE TABLE tenure.webhook_secret (
    until_at  timestamptz,                -- of one that was replaced
    webhook   uuid        NOT NULL,
    rotation  integer     NOT NULL,
    text      text,
    PRIMARY KEY (webhook, rotation)
);

-- How far the feed was fanned out: one row, 'webhooks', while there is a webhook, and one for each that catches up, which
-- ends at `until_position` and leaves out what happened before `since_at`. What is not behind the lowest is not pruned.
-- `generation` counts changes of the webhooks: who moves a cursor names the one that it has read.
CREATE TABLE tenure.cursor (
    mark            bigint      NOT NULL,
    job             uuid        NOT NULL,
    n               integer     NOT NULL,
    webhook         uuid,
    generation      bigint      NOT NULL,
    held_at         timestamptz NOT NULL, -- when it was taken last
    held_until      timestamptz,
    since_at        timestamptz,
    again           boolean     NOT NULL DEFAULT false,
    name            text        PRIMARY KEY,
    holder          text,
    until_position  text
) WITH (fillfactor = 50);

-- An event on its way to an endpoint. While it is held, `next_at` is when the hold ends.
CREATE TABLE tenure.delivery (
    webhook     uuid        NOT NULL,
    job         uuid,
    at          timestamptz NOT NULL,
    noted_at    timestamptz NOT NULL,
    next_at     timestamptz,
    tried_at    timestamptz,
    took_us     bigint,
    n           integer     NOT NULL,
    tries       integer     NOT NULL DEFAULT 0,
    status      integer,
    message     text COLLATE "C" NOT NULL,
    type        text        NOT NULL,
    state       text        NOT NULL DEFAULT 'waiting',
    holder      text,
    problem     text,
    body        text        NOT NULL,
    PRIMARY KEY (webhook, message)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000);
CREATE INDEX delivery_due ON tenure.delivery (webhook, next_at) WHERE state = 'waiting';
CREATE INDEX delivery_held ON tenure.delivery (webhook, next_at) WHERE holder IS NOT NULL;
CREATE INDEX delivery_noted ON tenure.delivery (webhook, state, noted_at, message);
