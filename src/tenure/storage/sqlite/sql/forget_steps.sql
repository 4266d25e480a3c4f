-- Remove the finished steps of a job whose names begin so, and save a checkpoint, both or neither, as long as the lease
-- holds. The guard lets it through while the permit is there, which no other transaction ever sees.

-- part: cleared
DELETE FROM temp.telling;

-- part: held
INSERT INTO temp.telling (job, fence, taken, n)
SELECT s.id, s.fence,
       (SELECT count(*) FROM tenure_step step
         WHERE step.job = s.id AND step.name >= :prefix AND substr(step.name, 1, length(:prefix)) = :prefix
           AND step.status IN ('done', 'skipped')),
       coalesce((SELECT steps FROM tenure_kept kept WHERE kept.job = s.id), 0)
  FROM tenure_job_state s
 CROSS JOIN tenure_lease lease ON lease.id = s.lease
 WHERE s.id = :job AND s.lease = :fence AND lease.owner = :worker AND lease.expires_at > :now;

-- part: counted
UPDATE tenure_kept AS kept
   SET steps = kept.steps - telling.taken,
       bytes = kept.bytes - coalesce((SELECT sum(size) FROM tenure_step step
                                       WHERE step.job = kept.job AND step.name >= :prefix
                                         AND substr(step.name, 1, length(:prefix)) = :prefix
                                         AND step.status IN ('done', 'skipped')), 0)
  FROM temp.telling
 WHERE kept.job = telling.job;

-- part: permitted
INSERT INTO tenure_permit (pruning) SELECT 1 FROM temp.telling;

-- part: removed
DELETE FROM tenure_step
 WHERE job IN (SELECT job FROM temp.telling) AND name >= :prefix AND substr(name, 1, length(:prefix)) = :prefix
   AND status IN ('done', 'skipped');

-- part: forbidden
DELETE FROM tenure_permit;

-- part: saved
INSERT INTO tenure_checkpoint (job, fence, at, body)
SELECT job, fence, :now, :body FROM temp.telling WHERE :body IS NOT NULL
ON CONFLICT DO UPDATE SET fence = excluded.fence, at = excluded.at, body = excluded.body;

-- part: answer
SELECT taken AS removed, n - taken AS left_over FROM temp.telling;
