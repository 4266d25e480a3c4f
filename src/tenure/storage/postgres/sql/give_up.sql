-- Mark backing-off jobs as given up: their timer is due at once and leads to `failed`.
-- Answers for every job found; `moved` says whether this statement set the mark.
WITH
found AS MATERIALIZED (
    SELECT s.id, s.state, s.due_at
      FROM tenure.job_state s
     WHERE s.id = ANY (:ids::uuid[])
     ORDER BY s.id
       FOR UPDATE
),
marked AS (
    UPDATE tenure.timer
       SET kind = 'give_up', due_at = tenure.now()
      FROM found
     WHERE found.state = 'retrying' AND timer.due_at = found.due_at AND timer.job = found.id
       AND timer.kind = 'retry'
    RETURNING timer.job
),
-- A timer counts only while the job says the same time.
noted AS (
    UPDATE tenure.job_state s
       SET due_at = tenure.now(), updated_at = tenure.now()
      FROM marked
     WHERE s.id = marked.job
)
SELECT found.id AS job, found.state, marked.job IS NOT NULL AS moved
  FROM found LEFT JOIN marked ON marked.job = found.id;
