-- Written from src/tenure/core/states.py by `make states`; do not edit.

CREATE TRIGGER tenure_guard_first BEFORE INSERT ON tenure_job_state
    WHEN NEW.state NOT IN ('created', 'scheduled', 'queued')
BEGIN SELECT RAISE(ABORT, 'tenure: a job is not born in this state'); END;

CREATE TRIGGER tenure_guard_step BEFORE UPDATE ON tenure_job_state
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
BEGIN SELECT RAISE(ABORT, 'tenure: no step leads there'); END;

CREATE TRIGGER tenure_guard_final BEFORE UPDATE ON tenure_job_state
    WHEN OLD.state IN ('succeeded', 'failed', 'cancelled', 'buried')
BEGIN SELECT RAISE(ABORT, 'tenure: a finished job never changes'); END;

CREATE TRIGGER tenure_guard_fence BEFORE UPDATE ON tenure_job_state
    WHEN NEW.fence < OLD.fence OR NEW.n < OLD.n OR NEW.id <> OLD.id
BEGIN SELECT RAISE(ABORT, 'tenure: neither a fence nor a count of events ever falls'); END;

CREATE TRIGGER tenure_guard_delete BEFORE DELETE ON tenure_job_state
    WHEN OLD.state NOT IN ('succeeded', 'failed', 'cancelled', 'buried') OR NOT EXISTS (SELECT 1 FROM tenure_permit)
BEGIN SELECT RAISE(ABORT, 'tenure: only retention deletes, and only finished jobs'); END;

CREATE TRIGGER tenure_guard_job_state_replace BEFORE INSERT ON tenure_job_state
    WHEN EXISTS (SELECT 1 FROM tenure_job_state WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'tenure: what is on record stays as it is'); END;

CREATE TRIGGER tenure_guard_job_update BEFORE UPDATE ON tenure_job
    WHEN true
BEGIN SELECT RAISE(ABORT, 'tenure: what is on record stays as it is'); END;

CREATE TRIGGER tenure_guard_job_delete BEFORE DELETE ON tenure_job
    WHEN NOT EXISTS (SELECT 1 FROM tenure_permit)
BEGIN SELECT RAISE(ABORT, 'tenure: only retention deletes, and only finished jobs'); END;

CREATE TRIGGER tenure_guard_job_replace BEFORE INSERT ON tenure_job
    WHEN EXISTS (SELECT 1 FROM tenure_job WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'tenure: what is on record stays as it is'); END;

CREATE TRIGGER tenure_guard_event_update BEFORE UPDATE ON tenure_event
    WHEN true
BEGIN SELECT RAISE(ABORT, 'tenure: what is on record stays as it is'); END;

CREATE TRIGGER tenure_guard_event_delete BEFORE DELETE ON tenure_event
    WHEN NOT EXISTS (SELECT 1 FROM tenure_permit)
BEGIN SELECT RAISE(ABORT, 'tenure: only retention deletes, and only finished jobs'); END;

CREATE TRIGGER tenure_guard_event_replace BEFORE INSERT ON tenure_event
    WHEN EXISTS (SELECT 1 FROM tenure_event WHERE job = NEW.job AND n = NEW.n)
BEGIN SELECT RAISE(ABORT, 'tenure: what is on record stays as it is'); END;

CREATE TRIGGER tenure_guard_attempt_update BEFORE UPDATE ON tenure_attempt
    WHEN true
BEGIN SELECT RAISE(ABORT, 'tenure: what is on record stays as it is'); END;

CREATE TRIGGER tenure_guard_attempt_delete BEFORE DELETE ON tenure_attempt
    WHEN NOT EXISTS (SELECT 1 FROM tenure_permit)
BEGIN SELECT RAISE(ABORT, 'tenure: only retention deletes, and only finished jobs'); END;

CREATE TRIGGER tenure_guard_attempt_replace BEFORE INSERT ON tenure_attempt
    WHEN EXISTS (SELECT 1 FROM tenure_attempt WHERE job = NEW.job AND fence = NEW.fence)
BEGIN SELECT RAISE(ABORT, 'tenure: what is on record stays as it is'); END;

CREATE TRIGGER tenure_guard_log_update BEFORE UPDATE ON tenure_log
    WHEN true
BEGIN SELECT RAISE(ABORT, 'tenure: what is on record stays as it is'); END;

CREATE TRIGGER tenure_guard_log_delete BEFORE DELETE ON tenure_log
    WHEN NOT EXISTS (SELECT 1 FROM tenure_permit)
BEGIN SELECT RAISE(ABORT, 'tenure: only retention deletes, and only finished jobs'); END;

CREATE TRIGGER tenure_guard_log_replace BEFORE INSERT ON tenure_log
    WHEN EXISTS (SELECT 1 FROM tenure_log WHERE job = NEW.job AND fence = NEW.fence AND n = NEW.n)
BEGIN SELECT RAISE(ABORT, 'tenure: what is on record stays as it is'); END;

CREATE TRIGGER tenure_guard_result_update BEFORE UPDATE ON tenure_result
    WHEN true
BEGIN SELECT RAISE(ABORT, 'tenure: what is on record stays as it is'); END;

CREATE TRIGGER tenure_guard_result_delete BEFORE DELETE ON tenure_result
    WHEN NOT EXISTS (SELECT 1 FROM tenure_permit)
BEGIN SELECT RAISE(ABORT, 'tenure: only retention deletes, and only finished jobs'); END;

CREATE TRIGGER tenure_guard_result_replace BEFORE INSERT ON tenure_result
    WHEN EXISTS (SELECT 1 FROM tenure_result WHERE job = NEW.job)
BEGIN SELECT RAISE(ABORT, 'tenure: what is on record stays as it is'); END;
