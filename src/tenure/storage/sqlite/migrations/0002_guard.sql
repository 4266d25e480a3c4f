-- reads-from: 2
-- Written from src/tenure/core/model/states.py by `make states`; do not edit.

CREATE TRIGGER tenure_guard_step BEFORE UPDATE ON tenure_job_state
BEGIN SELECT CASE
    WHEN OLD.state IN ('succeeded', 'failed', 'cancelled', 'buried')
    THEN RAISE(ABORT, 'tenure: job_state: a finished job never changes')
    WHEN NEW.fence < OLD.fence OR NEW.n < OLD.n OR NEW.id <> OLD.id
    THEN RAISE(ABORT, 'tenure: job_state: neither a fence nor a count of events ever falls')
    WHEN OLD.state <> NEW.state AND NOT (CASE OLD.state
        WHEN 'created' THEN NEW.state IN ('scheduled', 'queued', 'cancelled')
        WHEN 'scheduled' THEN NEW.state IN ('queued', 'cancelled')
        WHEN 'queued' THEN NEW.state IN ('running', 'cancelled')
        WHEN 'running' THEN NEW.state IN ('queued', 'cancelling', 'retrying', 'suspended', 'succeeded', 'failed', 'buried')
        WHEN 'cancelling' THEN NEW.state IN ('succeeded', 'failed', 'cancelled')
        WHEN 'retrying' THEN NEW.state IN ('queued', 'failed', 'cancelled')
        WHEN 'suspended' THEN NEW.state IN ('queued', 'cancelled')
        ELSE 0 END
         AND NEW.n = OLD.n + 1)
    THEN RAISE(ABORT, 'tenure: job_state: no step leads there')
    WHEN NEW.max_attempts <> OLD.max_attempts OR NEW.attempt < OLD.attempt AND NOT (NEW.attempt = OLD.attempt - 1 AND (OLD.state = 'running' AND NEW.state = 'queued' OR OLD.state = 'running' AND NEW.state = 'suspended'))
    THEN RAISE(ABORT, 'tenure: job_state: attempts are neither added nor given back, but by the steps that do so')
    END; END;

CREATE TRIGGER tenure_guard_delete BEFORE DELETE ON tenure_job_state
BEGIN SELECT CASE
    WHEN OLD.state NOT IN ('succeeded', 'failed', 'cancelled', 'buried') OR NOT EXISTS (SELECT 1 FROM tenure_permit)
    THEN RAISE(ABORT, 'tenure: job_state: only retention deletes, and only finished jobs')
    END; END;

CREATE TRIGGER tenure_guard_first BEFORE INSERT ON tenure_job_state
BEGIN SELECT CASE
    WHEN NEW.state NOT IN ('created', 'scheduled', 'queued')
    THEN RAISE(ABORT, 'tenure: job_state: a job is not born in this state')
    WHEN EXISTS (SELECT 1 FROM tenure_job_state WHERE id = NEW.id)
    THEN RAISE(ABORT, 'tenure: job_state: what is on record stays as it is')
    END; END;

CREATE TRIGGER tenure_guard_job_update BEFORE UPDATE ON tenure_job
BEGIN SELECT CASE
    WHEN true
    THEN RAISE(ABORT, 'tenure: job: what is on record stays as it is')
    END; END;

CREATE TRIGGER tenure_guard_job_delete BEFORE DELETE ON tenure_job
BEGIN SELECT CASE
    WHEN NOT EXISTS (SELECT 1 FROM tenure_permit)
    THEN RAISE(ABORT, 'tenure: job: only retention deletes, and only finished jobs')
    END; END;

CREATE TRIGGER tenure_guard_job_insert BEFORE INSERT ON tenure_job
BEGIN SELECT CASE
    WHEN EXISTS (SELECT 1 FROM tenure_job WHERE id = NEW.id)
    THEN RAISE(ABORT, 'tenure: job: what is on record stays as it is')
    END; END;

CREATE TRIGGER tenure_guard_event_update BEFORE UPDATE ON tenure_event
BEGIN SELECT CASE
    WHEN true
    THEN RAISE(ABORT, 'tenure: event: what is on record stays as it is')
    END; END;

CREATE TRIGGER tenure_guard_event_delete BEFORE DELETE ON tenure_event
BEGIN SELECT CASE
    WHEN NOT EXISTS (SELECT 1 FROM tenure_permit)
    THEN RAISE(ABORT, 'tenure: event: only retention deletes, and only finished jobs')
    END; END;

CREATE TRIGGER tenure_guard_event_insert BEFORE INSERT ON tenure_event
BEGIN SELECT CASE
    WHEN EXISTS (SELECT 1 FROM tenure_event WHERE job = NEW.job AND n = NEW.n)
    THEN RAISE(ABORT, 'tenure: event: what is on record stays as it is')
    END; END;

CREATE TRIGGER tenure_guard_attempt_update BEFORE UPDATE ON tenure_attempt
BEGIN SELECT CASE
    WHEN true
    THEN RAISE(ABORT, 'tenure: attempt: what is on record stays as it is')
    END; END;

CREATE TRIGGER tenure_guard_attempt_delete BEFORE DELETE ON tenure_attempt
BEGIN SELECT CASE
    WHEN NOT EXISTS (SELECT 1 FROM tenure_permit)
    THEN RAISE(ABORT, 'tenure: attempt: only retention deletes, and only finished jobs')
    END; END;

CREATE TRIGGER tenure_guard_attempt_insert BEFORE INSERT ON tenure_attempt
BEGIN SELECT CASE
    WHEN EXISTS (SELECT 1 FROM tenure_attempt WHERE job = NEW.job AND fence = NEW.fence)
    THEN RAISE(ABORT, 'tenure: attempt: what is on record stays as it is')
    WHEN NOT EXISTS (SELECT 1 FROM tenure_job_state s
                      WHERE s.id = NEW.job AND s.fence = NEW.fence AND s.fence > 0 AND s.lease IS NULL
                        AND NEW.number BETWEEN s.attempt AND s.attempt + 1)
    THEN RAISE(ABORT, 'tenure: attempt: an attempt is on record when it has ended, under the fence and with the number of its claim')
    END; END;

CREATE TRIGGER tenure_guard_log_update BEFORE UPDATE ON tenure_log
BEGIN SELECT CASE
    WHEN true
    THEN RAISE(ABORT, 'tenure: log: what is on record stays as it is')
    END; END;

CREATE TRIGGER tenure_guard_log_delete BEFORE DELETE ON tenure_log
BEGIN SELECT CASE
    WHEN NOT EXISTS (SELECT 1 FROM tenure_permit)
    THEN RAISE(ABORT, 'tenure: log: only retention deletes, and only finished jobs')
    END; END;

CREATE TRIGGER tenure_guard_log_insert BEFORE INSERT ON tenure_log
BEGIN SELECT CASE
    WHEN EXISTS (SELECT 1 FROM tenure_log WHERE job = NEW.job AND fence = NEW.fence AND n = NEW.n)
    THEN RAISE(ABORT, 'tenure: log: what is on record stays as it is')
    END; END;

CREATE TRIGGER tenure_guard_result_update BEFORE UPDATE ON tenure_result
BEGIN SELECT CASE
    WHEN true
    THEN RAISE(ABORT, 'tenure: result: what is on record stays as it is')
    END; END;

CREATE TRIGGER tenure_guard_result_delete BEFORE DELETE ON tenure_result
BEGIN SELECT CASE
    WHEN NOT EXISTS (SELECT 1 FROM tenure_permit)
    THEN RAISE(ABORT, 'tenure: result: only retention deletes, and only finished jobs')
    END; END;

CREATE TRIGGER tenure_guard_result_insert BEFORE INSERT ON tenure_result
BEGIN SELECT CASE
    WHEN EXISTS (SELECT 1 FROM tenure_result WHERE job = NEW.job)
    THEN RAISE(ABORT, 'tenure: result: what is on record stays as it is')
    WHEN NOT EXISTS (SELECT 1 FROM tenure_job_state s
                      WHERE s.id = NEW.job AND s.state = 'succeeded' AND s.has_result)
    THEN RAISE(ABORT, 'tenure: result: a result is that of a job which has succeeded and says that it has one')
    END; END;
