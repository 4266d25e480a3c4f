-- Replace the checkpoints of jobs, one a job, as long as the leases hold.

-- part: cleared
DELETE FROM temp.stepping;

-- part: given
INSERT INTO temp.stepping (place, job, fence, body) VALUES (?, ?, ?, ?);

-- part: held
UPDATE temp.stepping
   SET verdict = 'kept'
  FROM (SELECT given.place
          FROM temp.stepping given
         CROSS JOIN tenure_lease lease ON lease.id = given.fence AND lease.owner = :worker AND lease.expires_at > :now
         CROSS JOIN tenure_job_state s ON s.id = given.job AND s.lease = given.fence) held
 WHERE held.place = stepping.place;

-- part: saved
INSERT INTO tenure_checkpoint (job, fence, at, body)
SELECT job, fence, :now, body FROM temp.stepping WHERE verdict = 'kept'
ON CONFLICT DO UPDATE SET fence = excluded.fence, at = excluded.at, body = excluded.body;

-- part: answer
SELECT place, coalesce(verdict, 'lost') AS keeping FROM temp.stepping ORDER BY place;
