-- Prolong the leases that a worker still holds, and write progress under them.
-- A lease that has run out is not revived, even if it has not been reaped yet.
-- Answers with the jobs still owned; the worker stops what belongs to every other lease. Progress of a job whose row another
-- transaction has locked can wait, and the leases must not: it is passed over, and told.
WITH
given AS MATERIALIZED (
    SELECT * FROM unnest(:jobs::uuid[], :fences::bigint[], :progress::text[]) AS given (job, fence, progress)
),
alive AS MATERIALIZED (
    SELECT id FROM tenure.lease
     WHERE id = ANY (:held::bigint[]) AND owner = :worker::text AND expires_at > tenure.now()
     ORDER BY id
       FOR UPDATE
),
kept AS MATERIALIZED (
    UPDATE tenure.lease
       SET expires_at = tenure.now() + :lease_for::interval, heartbeat_at = tenure.now()
      FROM alive
     WHERE lease.id = alive.id
    RETURNING lease.id
),
telling AS MATERIALIZED (
    SELECT s.id, given.progress, greatest(tenure.now(), s.updated_at) AS at
      FROM given
      JOIN kept ON kept.id = given.fence
      JOIN tenure.job_state s ON s.id = given.job AND s.lease = given.fence
     WHERE given.progress IS NOT NULL
     ORDER BY s.id
       FOR UPDATE OF s SKIP LOCKED
),
told AS (
    UPDATE tenure.job_state s
       SET progress = telling.progress, updated_at = telling.at
      FROM telling
     WHERE s.id = telling.id
),
seen AS (
    UPDATE tenure.worker SET seen_at = tenure.now(), is_ready = :ready::boolean
     WHERE id = :worker::text
    RETURNING drain_requested_at IS NOT NULL AS drain
),
-- Settling leaves lease rows behind, since it must not lock them; those under which no job is owned go here, unless
-- another heartbeat of the same worker is at them. The count reads `kept`, so that our own leases are locked, which
-- may mean to wait, before we hold any of those that another heartbeat may be waiting for.
swept AS (
    DELETE FROM tenure.lease
     WHERE id = ANY (ARRAY(
               SELECT id FROM tenure.lease
                WHERE owner = :worker::text
                  AND (SELECT count(*) FROM kept) >= 0
                  AND id <> ALL (:held::bigint[])
                  AND NOT EXISTS (SELECT FROM tenure.job_state s
                                   WHERE s.id = ANY (lease.jobs) AND s.lease = lease.id)
                  FOR UPDATE SKIP LOCKED))
)
SELECT given.job, given.fence, s.state = 'cancelling' AS cancelling,
       given.progress IS NOT NULL AND given.job NOT IN (SELECT id FROM telling) AS untold
  FROM given
  JOIN kept ON kept.id = given.fence
  JOIN tenure.job_state s ON s.id = given.job AND s.lease = given.fence
 UNION ALL
SELECT NULL, NULL, drain, false FROM seen;
