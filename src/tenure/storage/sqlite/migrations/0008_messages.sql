-- reads-from: 5
-- Messages that name jobs: the queues of a broker through which they come, the workers that they lead, and the jobs that
-- were named once more.

-- A queue of a broker, and when this store was last searched for jobs to name there once more.
CREATE TABLE tenure_message_queue (
    name         TEXT    PRIMARY KEY NOT NULL,
    searched_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Which queue leads a worker, and since when and why it cannot receive from it. A row may outlive its worker.
CREATE TABLE tenure_receiver (
    worker      TEXT    PRIMARY KEY NOT NULL,
    failing_at  INTEGER,
    noted_at    INTEGER NOT NULL,
    queue       TEXT    NOT NULL,
    problem     TEXT
) STRICT, WITHOUT ROWID;

-- Jobs that were named once more since they stand in line, and when last. A row may outlive its job, by an hour.
CREATE TABLE tenure_reminder (
    job  TEXT    PRIMARY KEY NOT NULL,
    at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX tenure_reminder_at ON tenure_reminder (at);
