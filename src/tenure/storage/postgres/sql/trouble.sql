-- Jobs that have failed again and again, of the newest that wait for their next attempt. The row without a job says how
-- many are owned by no living worker, and how many have died lately: the groups of dead letters are found as in
-- `dead_letters`, and counted as far as they are young.
WITH RECURSIVE
hops (fingerprint, at) AS (
    (SELECT fingerprint, at FROM tenure.finished WHERE fingerprint > '' ORDER BY fingerprint DESC, at DESC LIMIT 1)
    UNION ALL
    SELECT next.*
      FROM hops
     CROSS JOIN LATERAL (SELECT finished.fingerprint, finished.at FROM tenure.finished
                          WHERE finished.fingerprint < hops.fingerprint
                          ORDER BY finished.fingerprint DESC, finished.at DESC LIMIT 1) next
),
dead AS (
    SELECT count(*) AS n
      FROM (SELECT FROM (SELECT * FROM hops LIMIT :most_groups::integer) reached
             CROSS JOIN LATERAL (SELECT FROM tenure.finished
                                  WHERE finished.fingerprint = reached.fingerprint
                                    AND finished.at > tenure.now() - :lately::interval
                                  ORDER BY finished.at LIMIT :most::integer) young
             WHERE reached.at > tenure.now() - :lately::interval
             LIMIT :most::integer) counted
),
overdue AS (
    SELECT coalesce(sum((SELECT count(*) FROM tenure.job_state s
                          WHERE s.id = ANY (lease.jobs) AND s.lease = lease.id)), 0) AS n
      FROM tenure.lease
     WHERE lease.expires_at <= tenure.now()
),
struggling AS (
    SELECT s.id AS job, s.line, s.failures, s.max_attempts, s.due_at
      FROM (SELECT timer.job FROM tenure.timer WHERE timer.kind = 'retry'
             ORDER BY timer.job DESC LIMIT :most::integer) waiting
     CROSS JOIN LATERAL (SELECT * FROM tenure.job_state WHERE job_state.id = waiting.job LIMIT 1) s
     WHERE s.state = 'retrying' AND s.failures >= :often::integer
     ORDER BY s.failures DESC, s.id
     LIMIT :few::integer
)
SELECT tenure.now() AS at, NULL::uuid AS job, NULL AS queue, NULL AS definition, NULL::integer AS version, NULL::smallint AS failures,
       NULL::smallint AS max_attempts, NULL::timestamptz AS due_at, (SELECT n FROM overdue)::bigint AS overdue,
       (SELECT n FROM dead) AS dead
 UNION ALL
SELECT NULL, struggling.job, line.queue, line.definition, line.version, struggling.failures, struggling.max_attempts,
       struggling.due_at, NULL, NULL
  FROM struggling
 CROSS JOIN LATERAL (SELECT * FROM tenure.line WHERE line.id = struggling.line LIMIT 1) line
 ORDER BY failures DESC NULLS FIRST, job;
