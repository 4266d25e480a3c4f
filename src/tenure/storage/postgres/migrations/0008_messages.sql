-- reads-from: 5
-- Messages that name jobs: the queues of a broker through which they come, the workers that they lead, and the jobs that
-- were named once more.

-- A queue of a broker, and when this store was last searched for jobs to name there once more.
CREATE TABLE tenure.message_queue (
    searched_at  timestamptz NOT NULL,
    name         text        PRIMARY KEY
) WITH (fillfactor = 50);

-- Which queue leads a worker, and since when and why it cannot receive from it. A row may outlive its worker.
CREATE TABLE tenure.receiver (
    failing_at  timestamptz,
    noted_at    timestamptz NOT NULL,
    worker      text        PRIMARY KEY,
    queue       text        NOT NULL,
    problem     text
);

-- Jobs that were named once more since they stand in line, and when last. A row may outlive its job, by an hour.
CREATE TABLE tenure.reminder (
    at   timestamptz NOT NULL,
    job  uuid        PRIMARY KEY
) WITH (fillfactor = 50);
CREATE INDEX reminder_at ON tenure.reminder (at);
