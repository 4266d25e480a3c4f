-- All that a job has kept, for the attempt that holds it: its checkpoint, its steps in their order, and its signals. Results
-- that are long, or come after many others, stay behind; `size` tells.
WITH
held AS MATERIALIZED (
    SELECT s.id
      FROM tenure_job_state s
     CROSS JOIN tenure_lease lease ON lease.id = s.lease
     WHERE s.id = :job AND s.lease = :fence AND lease.owner = :worker AND lease.expires_at > :now
),
known AS MATERIALIZED (
    SELECT n, name, kind, status, fence, at, call, size, until_at, answered_by,
           status = 'waiting' AND until_at <= :now AS is_over,
           sum(size) FILTER (WHERE size <= :short) OVER (ORDER BY n) AS together
      FROM held CROSS JOIN tenure_step step ON step.job = held.id
),
told AS MATERIALIZED (
    SELECT at, name, length(CAST(body AS BLOB)) AS size,
           sum(length(CAST(body AS BLOB))) FILTER (WHERE length(CAST(body AS BLOB)) <= :short) OVER (ORDER BY at, name) AS together
      FROM held CROSS JOIN tenure_signal signal ON signal.job = held.id
)
SELECT 'job' AS part, NULL AS n, NULL AS name, NULL AS kind, NULL AS status, NULL AS fence, NULL AS at, NULL AS call,
       NULL AS size, NULL AS until_at, NULL AS answered_by, NULL AS is_over,
       (SELECT body FROM tenure_checkpoint checkpoint WHERE checkpoint.job = held.id) AS body
  FROM held
 UNION ALL
SELECT 'step', n, name, kind, status, fence, at, call, size, until_at, answered_by, is_over,
       iif(size <= :short AND together <= :short_steps,
           (SELECT body FROM tenure_step step WHERE step.job = :job AND step.name = known.name), NULL)
  FROM known
 UNION ALL
SELECT 'signal', NULL, name, NULL, NULL, NULL, at, NULL, size, NULL, NULL, NULL,
       iif(size <= :short AND together <= :short_signals,
           (SELECT body FROM tenure_signal signal WHERE signal.job = :job AND signal.name = told.name), NULL)
  FROM told
 ORDER BY part, n, at, name;
