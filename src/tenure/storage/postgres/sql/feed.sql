-- Events of all jobs behind a position, in the order of their marks. Below the oldest transaction in flight nothing
-- can be added any more, so whoever reads that far and goes on from there misses nothing. The job row is the record
-- of creation: its event is made from it. Where to begin is said once: the same as a range of marks besides, the
-- planner would believe that hardly anything lies within it, and sort all there is.
WITH
settled AS MATERIALIZED (
    SELECT pg_snapshot_xmin(pg_current_snapshot()) AS horizon
),
next AS MATERIALIZED (
    SELECT * FROM (
        (SELECT event.mark, event.job, event.n
           FROM tenure.event
          WHERE event.mark < (SELECT horizon FROM settled)
            AND (event.mark, event.job, event.n) > (:mark::xid8, :job::uuid, :n::integer)
            AND (SELECT event.n <= s.n   -- what nobody counted is no event
                        OR s.finished_at IS NOT NULL AND event.source = s.state AND event.target = s.state   -- but a note
                   FROM tenure.job_state s WHERE s.id = event.job)
          ORDER BY event.mark, event.job, event.n
          LIMIT :limit::integer)
         UNION ALL
        (SELECT mark, id, 1
           FROM tenure.job
          WHERE mark < (SELECT horizon FROM settled)
            AND (mark, id, 1) > (:mark::xid8, :job::uuid, :n::integer)
          ORDER BY mark, id
          LIMIT :limit::integer)
    ) both_kinds
     ORDER BY mark, job, n
     LIMIT :limit::integer
)
SELECT next.mark, next.job, next.n, line.queue, line.definition, line.version, job.namespace,
       coalesce(event.type, born.state::text) AS type, event.source, coalesce(event.target, born.state) AS target,
       coalesce(event.attempt, 0) AS attempt, coalesce(event.fence, 0) AS fence, coalesce(event.at, job.created_at) AS at,
       coalesce(event.actor, 'api') AS actor, event.reason, event.payload
  FROM next
  -- LIMIT keeps these look-ups: planned anew each time, as through a pooler, they would be joined with all that there is.
 CROSS JOIN LATERAL (SELECT * FROM tenure.job WHERE job.id = next.job LIMIT 1) job
 CROSS JOIN LATERAL (SELECT * FROM tenure.line WHERE line.id = job.line LIMIT 1) line
 CROSS JOIN LATERAL (SELECT job_state.state FROM tenure.job_state WHERE job_state.id = next.job LIMIT 1) s
  LEFT JOIN LATERAL (SELECT * FROM tenure.event WHERE event.job = next.job AND event.n = next.n LIMIT 1) event ON true
  LEFT JOIN LATERAL (
           SELECT coalesce((SELECT second.source FROM tenure.event second WHERE second.job = next.job AND second.n = 2),
                           s.state) AS state
       ) born ON next.n = 1
 ORDER BY next.mark, next.job, next.n;
