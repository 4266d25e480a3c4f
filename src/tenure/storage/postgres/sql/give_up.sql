-- Mark backing-off jobs as given up: their timer is due at once and leads to `failed`. Two statements in one transaction: the
-- first locks the jobs, so that the second sees a timer that was moved meanwhile. Answers for every job found; `moved` says
-- whether this call set the mark.

-- part: lock
SELECT id FROM tenure.job_state WHERE id = ANY (:ids::uuid[]) ORDER BY id FOR UPDATE;

-- part: mark
WITH
found AS MATERIALIZED (
    SELECT s.id, s.state, s.due_at, s.state = 'retrying' AND timer.kind IS NOT NULL AS marking,
           greatest(tenure.now(), s.updated_at) AS at
      FROM tenure.job_state s
      LEFT JOIN tenure.timer ON timer.due_at = s.due_at AND timer.job = s.id AND timer.kind = 'retry'
     WHERE s.id = ANY (:ids::uuid[])
),
marked AS (
    UPDATE tenure.timer
       SET kind = 'give_up', due_at = tenure.now()
      FROM found
     WHERE found.marking AND timer.due_at = found.due_at AND timer.job = found.id AND timer.kind = 'retry'
),
-- A timer counts only while the job says the same time.
noted AS (
    UPDATE tenure.job_state s
       SET due_at = tenure.now(), updated_at = found.at
      FROM found
     WHERE s.id = found.id AND found.marking
)
SELECT id AS job, state, coalesce(marking, false) AS moved FROM found;
