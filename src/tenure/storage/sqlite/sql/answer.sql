-- Put down whether an effect in doubt has happened, whatever the job's state. `rouse` follows in the same transaction.

-- part: told
SELECT s.state,
       CASE WHEN step.status = 'intended' AND step.fence IS NOT s.lease                             THEN 'recorded'
            WHEN step.answered_by IS NOT NULL AND step.status = :status AND step.body IS :body       THEN 'repeated'
            ELSE 'not-in-doubt'
       END AS verdict
  FROM tenure_job_state s
  LEFT JOIN tenure_step step ON step.job = s.id AND step.name = :step
 WHERE s.id = :job;

-- part: count
UPDATE tenure_kept AS kept
   SET bytes = kept.bytes - coalesce(step.size, 0) + coalesce(:size, 0)
  FROM tenure_step step
 WHERE kept.job = :job AND step.job = kept.job AND step.name = :step;

-- part: put
UPDATE tenure_step
   SET status = :status, at = :now, answered_by = :by, size = :size, body = :body
 WHERE job = :job AND name = :step AND status = 'intended';
