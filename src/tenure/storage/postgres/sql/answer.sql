-- Put down whether an effect in doubt has happened, whatever the job's state. The row is locked before
-- (`keep_steps.lock`), and `rouse` follows.
WITH
found AS MATERIALIZED (
    SELECT s.id, s.state, greatest(tenure.now(), s.updated_at) AS at, step.name, step.size,
           CASE WHEN step.status = 'intended' AND step.fence IS DISTINCT FROM s.lease THEN 'recorded'
                WHEN step.answered_by IS NOT NULL AND step.status = :status::text
                     AND step.body IS NOT DISTINCT FROM :body::text                   THEN 'repeated'
                ELSE 'not-in-doubt'
           END AS verdict
      FROM tenure.job_state s
      LEFT JOIN tenure.step ON step.job = s.id AND step.name = :step::text
     WHERE s.id = :job::uuid
),
answered AS (
    UPDATE tenure.step
       SET status = :status::text, at = found.at, answered_by = :by::text, size = octet_length(:body::text),
           body = :body::text
      FROM found
     WHERE step.job = found.id AND step.name = found.name AND found.verdict = 'recorded'
),
counted AS (
    UPDATE tenure.kept
       SET bytes = bytes - coalesce(found.size, 0) + coalesce(octet_length(:body::text), 0)
      FROM found
     WHERE kept.job = found.id AND found.verdict = 'recorded'
)
SELECT state, verdict FROM found;
