-- All that a job has kept, for the attempt that holds it: its checkpoint, its steps in their order, and its signals. Results
-- that are long, or come after many others, stay behind; `size` tells.
WITH
held AS MATERIALIZED (
    SELECT s.id
      FROM tenure.job_state s
      JOIN tenure.lease ON lease.id = s.lease
     WHERE s.id = :job::uuid AND s.lease = :fence::bigint AND lease.owner = :worker::text
       AND lease.expires_at > tenure.now()
),
known AS MATERIALIZED (
    SELECT step.n, step.name, step.kind, step.status, step.fence, step.at, step.call, step.size, step.until_at,
           step.answered_by, step.status = 'waiting' AND step.until_at <= tenure.now() AS is_over,
           sum(step.size) FILTER (WHERE step.size <= :short::integer) OVER (ORDER BY step.n) AS together
      FROM held
     CROSS JOIN LATERAL (SELECT * FROM tenure.step WHERE step.job = held.id OFFSET 0) step
),
told AS MATERIALIZED (
    SELECT signal.at, signal.name, octet_length(signal.body) AS size,
           sum(octet_length(signal.body)) FILTER (WHERE octet_length(signal.body) <= :short::integer)
               OVER (ORDER BY signal.at, signal.name) AS together
      FROM held
     CROSS JOIN LATERAL (SELECT * FROM tenure.signal WHERE signal.job = held.id OFFSET 0) signal
)
SELECT 'job' AS part, NULL::bigint AS n, NULL AS name, NULL AS kind, NULL AS status, NULL::bigint AS fence,
       NULL::timestamptz AS at, NULL AS call, NULL::integer AS size, NULL::timestamptz AS until_at, NULL AS answered_by,
       NULL::boolean AS is_over, (SELECT body FROM tenure.checkpoint WHERE checkpoint.job = held.id) AS body
  FROM held
 UNION ALL
SELECT 'step', n, name, kind, status, fence, at, call, size, until_at, answered_by, is_over,
       CASE WHEN size <= :short::integer AND together <= :short_steps::bigint
            THEN (SELECT body FROM tenure.step WHERE step.job = :job::uuid AND step.name = known.name)
       END
  FROM known
 UNION ALL
SELECT 'signal', NULL, name, NULL, NULL, NULL, at, NULL, size, NULL, NULL, NULL,
       CASE WHEN size <= :short::integer AND together <= :short_signals::bigint
            THEN (SELECT body FROM tenure.signal WHERE signal.job = :job::uuid AND signal.name = told.name)
       END
  FROM told
 ORDER BY part, n, at, name;
