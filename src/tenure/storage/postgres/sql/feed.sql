-- Events of all jobs behind a position, in the order of their marks. Below the oldest transaction in flight nothing
-- can be added any more, so a reader that goes on from there misses nothing. The job row is the record
-- of creation: its event is made from it. Where to begin is said once: the same as a range of marks besides, the
-- planner would believe that hardly anything lies within it, and sort all there is.
-- A position that this database has not given, or only before it was restored, `is_gone`: there is one row, of nothing,
-- for a reader that stands there. There is one as well where nothing has come yet.
WITH
settled AS MATERIALIZED (
    SELECT tenure.horizon() AS horizon,
           :mark::bigint >= tenure.horizon()
           OR EXISTS (SELECT FROM tenure.restore WHERE kept < :mark::bigint AND :mark::bigint < resumed) AS is_gone
),
next AS MATERIALIZED (
    SELECT * FROM (
        (SELECT event.mark, event.job, event.n
           FROM tenure.event
          WHERE event.mark < (SELECT horizon FROM settled)
            AND (event.mark, event.job, event.n) > (:mark::bigint, :job::uuid, :n::integer)
            AND (SELECT event.n <= s.n   -- what was not counted is no event
                        OR s.finished_at IS NOT NULL AND event.source = s.state AND event.target = s.state   -- but a note
                   FROM tenure.job_state s WHERE s.id = event.job)
          ORDER BY event.mark, event.job, event.n
          LIMIT :limit::integer)
         UNION ALL
        (SELECT mark, id, 1
           FROM tenure.job
          WHERE mark < (SELECT horizon FROM settled)
            AND (mark, id, 1) > (:mark::bigint, :job::uuid, :n::integer)
          ORDER BY mark, id
          LIMIT :limit::integer)
    ) both_kinds
     ORDER BY mark, job, n
     LIMIT :limit::integer
)
SELECT settled.is_gone, next.mark, next.job, next.n, line.queue, line.definition, line.version, job.namespace,
       coalesce(event.type, born.state::text) AS type, event.source, coalesce(event.target, born.state) AS target,
       coalesce(event.attempt, 0) AS attempt, coalesce(event.fence, 0) AS fence, coalesce(event.at, job.created_at) AS at,
       coalesce(event.actor, 'api') AS actor, event.reason, event.payload
  FROM settled
  LEFT JOIN (
       next
       -- LIMIT keeps these look-ups: planned anew each time, as through a pooler, they would be joined with all there is.
       CROSS JOIN LATERAL (SELECT * FROM tenure.job WHERE job.id = next.job LIMIT 1) job
       CROSS JOIN LATERAL (SELECT * FROM tenure.line WHERE line.id = job.line LIMIT 1) line
       CROSS JOIN LATERAL (SELECT job_state.state FROM tenure.job_state WHERE job_state.id = next.job LIMIT 1) s
       LEFT JOIN LATERAL (SELECT * FROM tenure.event WHERE event.job = next.job AND event.n = next.n LIMIT 1) event ON true
       LEFT JOIN LATERAL (
                SELECT coalesce((SELECT second.source FROM tenure.event second WHERE second.job = next.job AND second.n = 2),
                                s.state) AS state
            ) born ON next.n = 1
       ) ON NOT settled.is_gone
 ORDER BY next.mark, next.job, next.n;
