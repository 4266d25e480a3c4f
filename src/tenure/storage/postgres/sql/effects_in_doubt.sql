-- Effects that may or may not have happened, the oldest first: those that are intended under another lease than the job's
-- present one, whatever the job's state. Those under the present one, which run, are as few as there are slots.
SELECT step.job, job.namespace, line.definition, line.queue, s.state, step.name AS step, step.at
  FROM ((SELECT job, name, fence, at FROM tenure.step
          WHERE :job::uuid IS NULL AND step.status = 'intended')
         UNION ALL
        (SELECT job, name, fence, at FROM tenure.step
          WHERE step.job = :job::uuid AND step.status = 'intended')) step
 CROSS JOIN LATERAL (SELECT * FROM tenure.job_state WHERE job_state.id = step.job LIMIT 1) s
 CROSS JOIN LATERAL (SELECT * FROM tenure.job
                      WHERE job.id = step.job AND (:namespace::text IS NULL OR job.namespace = :namespace::text)
                      LIMIT 1) job
 CROSS JOIN LATERAL (SELECT * FROM tenure.line WHERE line.id = s.line LIMIT 1) line
 WHERE step.fence IS DISTINCT FROM s.lease
 ORDER BY step.at, step.job, step.name
 LIMIT :limit::integer;
