-- reads-from: 5
-- Schedules, which make jobs again and again, and their ticks: what became of each.

-- `next_at` is the tick that a schedule waits for. Firing moves it, together with the tick and its job; `revision`
-- counts changes of what was asked for.
CREATE TABLE tenure.schedule (
    created_at  timestamptz NOT NULL,
    updated_at  timestamptz NOT NULL,
    next_at     timestamptz,
    last_at     timestamptz,
    paused_at   timestamptz,
    remaining   bigint      CHECK (remaining >= 0),
    revision    integer     NOT NULL,
    namespace   text        NOT NULL,
    name        text        NOT NULL,
    definition  text        NOT NULL,
    source      text        NOT NULL,
    creator     text,
    last_outcome text,                  -- of its last tick
    paused_by   text,
    reason      text,
    spec        text        NOT NULL,   -- JSON: the rule of its ticks, and the job to make
    PRIMARY KEY (namespace, name)
) WITH (fillfactor = 50);
CREATE INDEX schedule_next ON tenure.schedule (next_at) WHERE next_at IS NOT NULL AND paused_at IS NULL;
CREATE INDEX schedule_ended ON tenure.schedule (updated_at) WHERE next_at IS NULL AND source = 'task';
CREATE INDEX schedule_task ON tenure.schedule (name) WHERE source = 'task';
CREATE INDEX schedule_repeating ON tenure.schedule (namespace) WHERE source = 'task' AND next_at IS NOT NULL;
CREATE INDEX schedule_in_code ON tenure.schedule (namespace, name) WHERE source = 'code';
CREATE INDEX schedule_troubled ON tenure.schedule (namespace, name) WHERE last_outcome IN ('failed', 'full');

-- Which workers have a schedule in their code. A row may outlive its worker.
CREATE TABLE tenure.announced (
    at         timestamptz NOT NULL,
    namespace  text        NOT NULL,
    schedule   text        NOT NULL,
    worker     text        NOT NULL,
    PRIMARY KEY (namespace, schedule, worker)
);

-- A tick on record; several that were missed in a row are one. A run by hand never takes the place of a tick. It is
-- open while its job may not have ended, where the schedule asks about that.
CREATE TABLE tenure.tick (
    at         timestamptz NOT NULL,
    until_at   timestamptz,
    noted_at   timestamptz NOT NULL,
    job        uuid,
    n          integer     NOT NULL DEFAULT 1,
    is_open    boolean     NOT NULL DEFAULT false,
    is_by_hand boolean     NOT NULL DEFAULT false,
    namespace  text        NOT NULL,
    schedule   text        NOT NULL,
    outcome    text        NOT NULL,
    problem    text,
    PRIMARY KEY (namespace, schedule, at, is_by_hand)
);
CREATE INDEX tick_open ON tenure.tick (namespace, schedule) WHERE is_open;
CREATE INDEX tick_noted ON tenure.tick (noted_at);

-- DISTINCT keeps PostgreSQL from letting anybody write through the view.
CREATE VIEW tenure.schedules AS
SELECT DISTINCT name AS id, definition AS definition_key, (spec::json ->> 'version')::integer AS definition_version,
       spec::json ->> 'cron' AS cron, spec::json ->> 'params' AS params,
       coalesce((spec::json ->> 'priority')::integer, 0) AS priority, paused_at IS NULL AS enabled,
       last_at AS last_enqueued_at
  FROM tenure.schedule;
