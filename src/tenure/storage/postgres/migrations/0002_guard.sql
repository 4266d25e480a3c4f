-- reads-from: 2
-- Written from src/tenure/core/model/states.py by `make states`; do not edit.

-- Whether the table of steps leads from one state to the other.
CREATE FUNCTION tenure.is_step(source tenure.state, target tenure.state) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE source
        WHEN 'created' THEN target IN ('scheduled', 'queued', 'cancelled')
        WHEN 'scheduled' THEN target IN ('queued', 'cancelled')
        WHEN 'queued' THEN target IN ('running', 'cancelled')
        WHEN 'running' THEN target IN ('queued', 'cancelling', 'retrying', 'suspended', 'succeeded', 'failed', 'buried')
        WHEN 'cancelling' THEN target IN ('succeeded', 'failed', 'cancelled')
        WHEN 'retrying' THEN target IN ('queued', 'failed', 'cancelled')
        WHEN 'suspended' THEN target IN ('queued', 'cancelled')
        ELSE false END
$$;

CREATE FUNCTION tenure.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'tenure: %: %', TG_TABLE_NAME, TG_ARGV[0] USING ERRCODE = 'TN001', TABLE = TG_TABLE_NAME;
END
$$;

-- Every statement reads the conditions of triggers anew. That of `guard_step` is short and lets usual steps
-- pass; all other changes are judged here.
CREATE FUNCTION tenure.judge() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.state = ANY ('{succeeded,failed,cancelled,buried}'::tenure.state[]) THEN
        RAISE EXCEPTION 'tenure: job_state: a finished job never changes' USING ERRCODE = 'TN001', TABLE = TG_TABLE_NAME;
    END IF;
    IF NEW.fence < OLD.fence OR NEW.n < OLD.n OR NEW.id <> OLD.id THEN
        RAISE EXCEPTION 'tenure: job_state: neither a fence nor a count of events ever falls' USING ERRCODE = 'TN001', TABLE = TG_TABLE_NAME;
    END IF;
    IF OLD.state <> NEW.state AND NOT (tenure.is_step(OLD.state, NEW.state) AND NEW.n = OLD.n + 1) THEN
        RAISE EXCEPTION 'tenure: job_state: no step leads there' USING ERRCODE = 'TN001', TABLE = TG_TABLE_NAME;
    END IF;
    IF NEW.max_attempts <> OLD.max_attempts OR NEW.attempt < OLD.attempt AND NOT (NEW.attempt = OLD.attempt - 1 AND (OLD.state = 'running' AND NEW.state = 'queued' OR OLD.state = 'running' AND NEW.state = 'suspended')) THEN
        RAISE EXCEPTION 'tenure: job_state: attempts are neither added nor given back, but by the steps that do so' USING ERRCODE = 'TN001', TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NEW;
END
$$;

ALTER TABLE tenure.job_state ADD CONSTRAINT lease_while_owned
    CHECK ((state = ANY ('{running,cancelling}'::tenure.state[])) = (lease IS NOT NULL));

CREATE TRIGGER guard_first BEFORE INSERT ON tenure.job_state FOR EACH ROW
    WHEN (NEW.state <> ALL ('{created,scheduled,queued}'::tenure.state[]))
    EXECUTE FUNCTION tenure.refuse('a job is not born in this state');

CREATE TRIGGER guard_step BEFORE UPDATE ON tenure.job_state FOR EACH ROW
    WHEN (NEW.n <> OLD.n + 1 OR NEW.fence < OLD.fence OR NEW.id <> OLD.id OR NEW.max_attempts <> OLD.max_attempts OR NEW.attempt < OLD.attempt OR (OLD.state <> 'queued' OR NEW.state <> 'running') AND (OLD.state <> 'running' OR NEW.state <> 'succeeded'))
    EXECUTE FUNCTION tenure.judge();

CREATE TRIGGER guard_delete BEFORE DELETE ON tenure.job_state FOR EACH ROW
    WHEN (OLD.state <> ALL ('{succeeded,failed,cancelled,buried}'::tenure.state[]) OR current_setting('tenure.pruning'::text, true) IS DISTINCT FROM 'on'::text)
    EXECUTE FUNCTION tenure.refuse('only retention deletes, and only finished jobs');

CREATE TRIGGER guard_delete BEFORE DELETE ON tenure.job FOR EACH ROW
    WHEN (current_setting('tenure.pruning'::text, true) IS DISTINCT FROM 'on'::text)
    EXECUTE FUNCTION tenure.refuse('only retention deletes, and only finished jobs');

CREATE TRIGGER guard_delete BEFORE DELETE ON tenure.event FOR EACH ROW
    WHEN (current_setting('tenure.pruning'::text, true) IS DISTINCT FROM 'on'::text)
    EXECUTE FUNCTION tenure.refuse('only retention deletes, and only finished jobs');

CREATE TRIGGER guard_delete BEFORE DELETE ON tenure.attempt FOR EACH ROW
    WHEN (current_setting('tenure.pruning'::text, true) IS DISTINCT FROM 'on'::text)
    EXECUTE FUNCTION tenure.refuse('only retention deletes, and only finished jobs');

CREATE TRIGGER guard_delete BEFORE DELETE ON tenure.log FOR EACH ROW
    WHEN (current_setting('tenure.pruning'::text, true) IS DISTINCT FROM 'on'::text)
    EXECUTE FUNCTION tenure.refuse('only retention deletes, and only finished jobs');

CREATE TRIGGER guard_delete BEFORE DELETE ON tenure.result FOR EACH ROW
    WHEN (current_setting('tenure.pruning'::text, true) IS DISTINCT FROM 'on'::text)
    EXECUTE FUNCTION tenure.refuse('only retention deletes, and only finished jobs');

CREATE TRIGGER guard_record BEFORE UPDATE ON tenure.job FOR EACH STATEMENT
    EXECUTE FUNCTION tenure.refuse('what is on record stays as it is');

CREATE TRIGGER guard_record BEFORE UPDATE ON tenure.event FOR EACH STATEMENT
    EXECUTE FUNCTION tenure.refuse('what is on record stays as it is');

CREATE TRIGGER guard_record BEFORE UPDATE ON tenure.attempt FOR EACH STATEMENT
    EXECUTE FUNCTION tenure.refuse('what is on record stays as it is');

CREATE TRIGGER guard_record BEFORE UPDATE ON tenure.log FOR EACH STATEMENT
    EXECUTE FUNCTION tenure.refuse('what is on record stays as it is');

CREATE TRIGGER guard_record BEFORE UPDATE ON tenure.result FOR EACH STATEMENT
    EXECUTE FUNCTION tenure.refuse('what is on record stays as it is');

CREATE TRIGGER guard_truncate BEFORE TRUNCATE ON tenure.job_state FOR EACH STATEMENT
    EXECUTE FUNCTION tenure.refuse('what is on record stays as it is');

CREATE TRIGGER guard_truncate BEFORE TRUNCATE ON tenure.job FOR EACH STATEMENT
    EXECUTE FUNCTION tenure.refuse('what is on record stays as it is');

CREATE TRIGGER guard_truncate BEFORE TRUNCATE ON tenure.event FOR EACH STATEMENT
    EXECUTE FUNCTION tenure.refuse('what is on record stays as it is');

CREATE TRIGGER guard_truncate BEFORE TRUNCATE ON tenure.attempt FOR EACH STATEMENT
    EXECUTE FUNCTION tenure.refuse('what is on record stays as it is');

CREATE TRIGGER guard_truncate BEFORE TRUNCATE ON tenure.log FOR EACH STATEMENT
    EXECUTE FUNCTION tenure.refuse('what is on record stays as it is');

CREATE TRIGGER guard_truncate BEFORE TRUNCATE ON tenure.result FOR EACH STATEMENT
    EXECUTE FUNCTION tenure.refuse('what is on record stays as it is');
