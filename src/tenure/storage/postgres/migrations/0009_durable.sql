-- reads-from: 5
-- Progress that outlives an attempt: steps, checkpoints, what a job waits for, and the signals sent to it. All of it goes
-- with its job; a replay begins without any.

-- A step is finished once it is `done` or `skipped`, and never changes then. One that is `intended` is in doubt unless its
-- fence is that of the job's present lease. `size` is the length of `body` in bytes, so that a list need not read it, and
-- `n` puts the steps of a job in the order in which they were first kept. What is `done` without a body had a result that
-- was refused.
CREATE TABLE tenure.step (
    job          uuid        NOT NULL,
    n            bigint      GENERATED ALWAYS AS IDENTITY,
    fence        bigint      NOT NULL,
    at           timestamptz NOT NULL,
    until_at     timestamptz,                 -- when a sleep or a wait ends by itself
    size         integer,
    name         text COLLATE "C" NOT NULL,
    kind         text        NOT NULL,
    status       text        NOT NULL,
    call         text        NOT NULL DEFAULT '',
    answered_by  text,                        -- who has said whether it happened
    body         text,
    PRIMARY KEY (job, name)
);
CREATE INDEX step_order ON tenure.step (job, n);
CREATE INDEX step_intended ON tenure.step (job) WHERE status = 'intended';
CREATE INDEX step_intended_at ON tenure.step (at, job) WHERE status = 'intended';

-- How many steps a job has kept and how many bytes, so that nobody has to count them, and the fence under which it kept
-- the last one.
CREATE TABLE tenure.kept (
    job    uuid    PRIMARY KEY,
    fence  bigint  NOT NULL,
    bytes  bigint  NOT NULL,
    steps  integer NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE tenure.checkpoint (
    job    uuid        PRIMARY KEY,
    fence  bigint      NOT NULL,
    at     timestamptz NOT NULL,
    body   text        NOT NULL
) WITH (fillfactor = 50);

-- What a suspended job waits for. A row counts only while its fence is the job's and the job is suspended.
CREATE TABLE tenure.wait (
    job     uuid        PRIMARY KEY,
    fence   bigint      NOT NULL,
    at      timestamptz NOT NULL,
    kind    text        NOT NULL,
    step    text COLLATE "C" NOT NULL,
    signal  text COLLATE "C"
);
CREATE INDEX wait_signal ON tenure.wait (signal, job) WHERE signal IS NOT NULL;

-- What a job was told, before or while it waits for it. The first of a name stands.
CREATE TABLE tenure.signal (
    job   uuid        NOT NULL,
    at    timestamptz NOT NULL,
    name  text COLLATE "C" NOT NULL,
    by    text        NOT NULL,
    body  text        NOT NULL,
    PRIMARY KEY (job, name)
);

CREATE TRIGGER guard_step_change BEFORE UPDATE ON tenure.step FOR EACH ROW
    WHEN (OLD.status = ANY ('{done,skipped}'::text[]) OR NEW.fence < OLD.fence OR NEW.job <> OLD.job OR NEW.name <> OLD.name)
    EXECUTE FUNCTION tenure.refuse('a finished step never changes, nor does the fence of a step fall');

CREATE TRIGGER guard_delete BEFORE DELETE ON tenure.step FOR EACH ROW
    WHEN (current_setting('tenure.pruning'::text, true) IS DISTINCT FROM 'on'::text)
    EXECUTE FUNCTION tenure.refuse('steps go with their job, or by the word of its handler');

CREATE TRIGGER guard_truncate BEFORE TRUNCATE ON tenure.step FOR EACH STATEMENT
    EXECUTE FUNCTION tenure.refuse('what is on record stays as it is');

CREATE TRIGGER guard_record BEFORE UPDATE ON tenure.signal FOR EACH STATEMENT
    EXECUTE FUNCTION tenure.refuse('what is on record stays as it is');

CREATE TRIGGER guard_delete BEFORE DELETE ON tenure.signal FOR EACH ROW
    WHEN (current_setting('tenure.pruning'::text, true) IS DISTINCT FROM 'on'::text)
    EXECUTE FUNCTION tenure.refuse('only retention deletes, and only finished jobs');

CREATE TRIGGER guard_truncate BEFORE TRUNCATE ON tenure.signal FOR EACH STATEMENT
    EXECUTE FUNCTION tenure.refuse('what is on record stays as it is');

-- Keep a step in a transaction of the handler's own, as the last statement before COMMIT: what the transaction wrote is
-- there exactly if the step is. It is refused, and the transaction with it, unless the job is owned under this fence by a
-- lease that has not run out at this moment, which the row's lock makes last until the end; and if the step is there
-- already, since the transaction has then been committed before. Roles of handlers need no right but this one:
-- GRANT USAGE ON SCHEMA tenure, GRANT EXECUTE ON FUNCTION tenure.keep_step. `call` is a hash of what was called.
CREATE FUNCTION tenure.keep_step(job uuid, fence bigint, name text, body text, call text DEFAULT '') RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    bytes constant bigint := coalesce(octet_length(keep_step.body), 0);
    held  tenure.kept;
BEGIN
    PERFORM FROM tenure.job_state s WHERE s.id = keep_step.job AND s.lease = keep_step.fence FOR UPDATE;
    IF NOT FOUND OR NOT EXISTS (SELECT FROM tenure.lease l
                                 WHERE l.id = keep_step.fence AND l.expires_at > clock_timestamp()) THEN
        RAISE EXCEPTION 'tenure: job % is not held under fence %: the lease is lost', keep_step.job, keep_step.fence
            USING ERRCODE = 'TN002';
    END IF;
    IF octet_length(keep_step.name) NOT BETWEEN 1 AND 200 OR keep_step.name !~ '^[^/#?[:cntrl:]]+(#[0-9]+)?$' THEN
        RAISE EXCEPTION 'tenure: the name of a step has 1 to 200 bytes and none of / # ?, but #N' USING ERRCODE = 'TN003';
    END IF;
    PERFORM keep_step.body::json;
    IF bytes > 262144 THEN
        RAISE EXCEPTION 'tenure: the result of step % has over 262,144 bytes', keep_step.name USING ERRCODE = 'TN003';
    END IF;
    SELECT * INTO held FROM tenure.kept k WHERE k.job = keep_step.job;
    IF held.steps >= 10000 OR held.bytes + bytes > 16777216 THEN
        RAISE EXCEPTION 'tenure: job % may keep no more steps', keep_step.job USING ERRCODE = 'TN004';
    END IF;
    INSERT INTO tenure.step (job, fence, at, size, name, kind, status, call, body)
    VALUES (keep_step.job, keep_step.fence, tenure.now(), octet_length(keep_step.body), keep_step.name, 'transaction',
            'done', keep_step.call, keep_step.body)
    ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'tenure: step % of job % is kept already', keep_step.name, keep_step.job
            USING ERRCODE = 'TN005';
    END IF;
    INSERT INTO tenure.kept AS k (job, fence, bytes, steps) VALUES (keep_step.job, keep_step.fence, bytes, 1)
    ON CONFLICT ON CONSTRAINT kept_pkey
    DO UPDATE SET fence = excluded.fence, bytes = k.bytes + excluded.bytes, steps = k.steps + 1;
END
$$;
REVOKE ALL ON FUNCTION tenure.keep_step(uuid, bigint, text, text, text) FROM PUBLIC;
