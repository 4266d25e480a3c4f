-- Prolong the leases that a worker still holds, and write progress under them.
-- A lease that has run out is not revived, even if it has not been reaped yet.
-- Answers with the jobs still owned; the worker stops what belongs to every other lease. The row without a job is
-- the worker's own, if it was enlisted: there `cancelling` says that it is to drain.

-- part: given
INSERT INTO temp.given (job, fence, progress) VALUES (?, ?, ?);

-- part: kept
UPDATE tenure_lease
   SET expires_at = :now + :lease_for, heartbeat_at = :now
 WHERE id IN (SELECT fence FROM temp.given) AND owner = :worker AND expires_at > :now;

-- part: told
-- The plus keeps SQLite from looking up in `given` every job there is, which it thinks is as large.
UPDATE tenure_job_state AS s
   SET progress = given.progress, updated_at = :now
  FROM temp.given
 CROSS JOIN tenure_lease lease ON lease.id = given.fence
 WHERE s.id = +given.job AND s.lease = +given.fence AND given.progress IS NOT NULL
   AND lease.owner = :worker AND lease.expires_at > :now;

-- part: swept
-- Settling leaves lease rows behind; those under which no job is owned go here.
DELETE FROM tenure_lease
 WHERE owner = :worker
   AND id NOT IN (SELECT fence FROM temp.given)
   AND NOT EXISTS (SELECT 1
                     FROM json_each(tenure_lease.jobs) member
                    CROSS JOIN tenure_job_state s ON s.id = member.value AND s.lease = tenure_lease.id);

-- part: seen
UPDATE tenure_worker SET seen_at = :now, is_ready = :ready WHERE id = :worker;

-- part: answer
SELECT given.job, given.fence, s.state = 'cancelling' AS cancelling, false AS untold
  FROM temp.given
 CROSS JOIN tenure_lease lease ON lease.id = given.fence
 CROSS JOIN tenure_job_state s ON s.id = given.job AND s.lease = given.fence
 WHERE lease.owner = :worker AND lease.expires_at > :now
 UNION ALL
SELECT NULL, NULL, drain_requested_at IS NOT NULL, false FROM tenure_worker WHERE id = :worker;
