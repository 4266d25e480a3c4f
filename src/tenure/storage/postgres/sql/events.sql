-- The history of one job, or part of it. The job row itself is the record of its creation, so the first event is made from
-- it: the state it was born in is the one its next event left, or the one it is still in.
SELECT job.id AS job, 1 AS n, coalesce(second.source, s.state)::text AS type, NULL::tenure.state AS source,
       coalesce(second.source, s.state) AS target, 0::smallint AS attempt, 0::bigint AS fence, job.created_at AS at,
       'api' AS actor, NULL AS reason, NULL AS payload
  FROM tenure.job
  JOIN tenure.job_state s ON s.id = job.id
  LEFT JOIN tenure.event second ON second.job = job.id AND second.n = 2
 WHERE job.id = :job::uuid AND :after::bigint < 1
 UNION ALL
SELECT event.job, event.n, type, source, target, event.attempt, event.fence, at, actor, reason, payload
  FROM tenure.event
  JOIN tenure.job_state s ON s.id = event.job
       -- What was not counted is no event; behind the end, where nothing is counted, only notes are.
       AND (event.n <= s.n OR s.finished_at IS NOT NULL AND event.source = s.state AND event.target = s.state)
 WHERE event.job = :job::uuid AND event.n > :after::bigint
 ORDER BY n
 LIMIT :limit::integer;
