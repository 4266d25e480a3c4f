-- reads-from: 5
-- Schedules, which make jobs again and again, and their ticks: what became of each.

-- `next_at` is the tick that a schedule waits for. Firing moves it, together with the tick and its job; `revision`
-- counts changes of what was asked for.
CREATE TABLE tenure_schedule (
    namespace   TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    next_at     INTEGER,
    last_at     INTEGER,
    paused_at   INTEGER,
    remaining   INTEGER CHECK (remaining >= 0),
    revision    INTEGER NOT NULL,
    definition  TEXT    NOT NULL,
    source      TEXT    NOT NULL,
    creator     TEXT,
    last_outcome TEXT,               -- of its last tick
    paused_by   TEXT,
    reason      TEXT,
    spec        TEXT    NOT NULL,   -- JSON: the rule of its ticks, and the job to make
    PRIMARY KEY (namespace, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX tenure_schedule_next ON tenure_schedule (next_at) WHERE next_at IS NOT NULL AND paused_at IS NULL;
CREATE INDEX tenure_schedule_ended ON tenure_schedule (updated_at) WHERE next_at IS NULL AND source = 'task';
CREATE INDEX tenure_schedule_task ON tenure_schedule (name) WHERE source = 'task';
CREATE INDEX tenure_schedule_repeating ON tenure_schedule (namespace) WHERE source = 'task' AND next_at IS NOT NULL;
CREATE INDEX tenure_schedule_in_code ON tenure_schedule (namespace, name) WHERE source = 'code';
CREATE INDEX tenure_schedule_troubled ON tenure_schedule (namespace, name) WHERE last_outcome IN ('failed', 'full');

-- Which workers have a schedule in their code. A row may outlive its worker.
CREATE TABLE tenure_announced (
    namespace  TEXT    NOT NULL,
    schedule   TEXT    NOT NULL,
    worker     TEXT    NOT NULL,
    at         INTEGER NOT NULL,
    PRIMARY KEY (namespace, schedule, worker)
) STRICT, WITHOUT ROWID;

-- A tick on record; several that were missed in a row are one. A run by hand never takes the place of a tick. It is
-- open while its job may not have ended, where the schedule asks about that.
CREATE TABLE tenure_tick (
    namespace  TEXT    NOT NULL,
    schedule   TEXT    NOT NULL,
    at         INTEGER NOT NULL,
    until_at   INTEGER,
    noted_at   INTEGER NOT NULL,
    job        TEXT,
    n          INTEGER NOT NULL DEFAULT 1,
    is_open    INTEGER NOT NULL DEFAULT 0,
    is_by_hand INTEGER NOT NULL DEFAULT 0,
    outcome    TEXT    NOT NULL,
    problem    TEXT,
    PRIMARY KEY (namespace, schedule, at, is_by_hand)
) STRICT, WITHOUT ROWID;
CREATE INDEX tenure_tick_open ON tenure_tick (namespace, schedule) WHERE is_open = 1;
CREATE INDEX tenure_tick_noted ON tenure_tick (noted_at);

CREATE VIEW tenure_schedules AS
SELECT name AS id, definition AS definition_key, spec ->> 'version' AS definition_version, spec ->> 'cron' AS cron,
       spec ->> 'params' AS params, coalesce(spec ->> 'priority', 0) AS priority, paused_at IS NULL AS enabled,
       strftime('%Y-%m-%dT%H:%M:%fZ', last_at / 1e6, 'unixepoch') AS last_enqueued_at
  FROM tenure_schedule;
