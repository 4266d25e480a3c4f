-- Effects that may or may not have happened, the oldest first: those that are intended under another lease than the job's
-- present one, whatever the job's state. Those under the present one, which run, are as few as there are slots.
SELECT step.job, job.namespace, line.definition, line.queue, s.state, step.name AS step, step.at
  FROM (SELECT job, name, fence, at FROM tenure_step WHERE :job IS NULL AND status = 'intended'
         UNION ALL
        SELECT job, name, fence, at FROM tenure_step WHERE job = :job AND status = 'intended') step
 CROSS JOIN tenure_job_state s ON s.id = step.job
 CROSS JOIN tenure_job job ON job.id = step.job AND (:namespace IS NULL OR job.namespace = :namespace)
 CROSS JOIN tenure_line line ON line.id = s.line
 WHERE step.fence IS NOT s.lease
 ORDER BY step.at, step.job, step.name
 LIMIT :limit;
