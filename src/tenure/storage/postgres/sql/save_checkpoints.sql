-- Replace the checkpoints of jobs, one a job, as long as the leases hold. A job whose row another transaction has locked is
-- passed over and comes again: see `keep_steps`.
WITH
given AS MATERIALIZED (
    SELECT * FROM unnest(:jobs::uuid[], :fences::bigint[], :bodies::text[])
                  WITH ORDINALITY AS given (job, fence, body, place)
),
held AS MATERIALIZED (
    SELECT id FROM tenure.lease
     WHERE id = ANY (:held::bigint[]) AND owner = :worker::text AND expires_at > tenure.now()
),
known AS MATERIALIZED (
    SELECT given.*
      FROM given
     CROSS JOIN LATERAL (SELECT FROM tenure.job_state
                          WHERE job_state.id = given.job AND job_state.lease = given.fence LIMIT 1) s
     WHERE given.fence IN (SELECT id FROM held)
),
owned AS MATERIALIZED (
    SELECT s.id, known.fence, known.body, known.place, greatest(tenure.now(), s.updated_at) AS at
      FROM known
      JOIN tenure.job_state s ON s.id = known.job AND s.lease = known.fence
     ORDER BY s.id
       FOR UPDATE OF s SKIP LOCKED
),
saved AS (
    INSERT INTO tenure.checkpoint (job, fence, at, body) SELECT id, fence, at, body FROM owned
    ON CONFLICT (job) DO UPDATE SET fence = excluded.fence, at = excluded.at, body = excluded.body
)
SELECT given.place,
       CASE WHEN owned.place IS NOT NULL THEN 'kept' WHEN known.place IS NOT NULL THEN 'locked' ELSE 'lost' END AS keeping
  FROM given
  LEFT JOIN known ON known.place = given.place
  LEFT JOIN owned ON owned.place = given.place
 ORDER BY given.place;
