-- Jobs that have failed again and again, of the newest that wait for their next attempt. The row without a job says how
-- many are owned by no living worker, and how many have died lately: the groups of dead letters are found as in
-- `dead_letters`, and counted as far as they are young.
WITH RECURSIVE
hops (fingerprint) AS (
    SELECT max(fingerprint) FROM tenure_finished WHERE fingerprint > ''
     UNION ALL
    SELECT (SELECT max(fingerprint) FROM tenure_finished WHERE tenure_finished.fingerprint < hops.fingerprint)
      FROM hops WHERE fingerprint IS NOT NULL
     LIMIT :most_groups
),
dead (n) AS (
    SELECT count(*)
      FROM (SELECT 1 FROM hops
             CROSS JOIN tenure_finished ended ON ended.fingerprint = hops.fingerprint AND ended.at > :now - :lately
             LIMIT :most)
),
overdue (n) AS (
    SELECT count(*)
      FROM tenure_lease lease
     CROSS JOIN json_each(lease.jobs) member
     CROSS JOIN tenure_job_state s ON s.id = member.value AND s.lease = lease.id
     WHERE lease.expires_at <= :now
),
struggling (job, line, failures, max_attempts, due_at) AS (
    SELECT s.id, s.line, s.failures, s.max_attempts, s.due_at
      FROM (SELECT job FROM tenure_timer timer WHERE timer.kind = 'retry' ORDER BY timer.job DESC LIMIT :most) waiting
     CROSS JOIN tenure_job_state s ON s.id = waiting.job
     WHERE s.state = 'retrying' AND s.failures >= :often
     ORDER BY s.failures DESC, s.id
     LIMIT :few
)
SELECT :now AS at, NULL AS job, NULL AS queue, NULL AS definition, NULL AS version, NULL AS failures, NULL AS max_attempts,
       NULL AS due_at, (SELECT n FROM overdue) AS overdue, (SELECT n FROM dead) AS dead
 UNION ALL
SELECT NULL, struggling.job, line.queue, line.definition, line.version, struggling.failures, struggling.max_attempts,
       struggling.due_at, NULL, NULL
  FROM struggling CROSS JOIN tenure_line line ON line.id = struggling.line
 ORDER BY failures DESC NULLS FIRST, job;
