-- Jobs that were put aside, the latest first.
SELECT aside.job, line.queue, line.definition, line.version, job.namespace, s.state, aside.fence, aside.verb, aside.code,
       aside.text, aside.at AS since_at, aside.by, aside.ending, aside.result, aside.error, count(*) OVER () AS in_all
  FROM (SELECT * FROM tenure_aside
         WHERE :jobs IS NULL OR job IN (SELECT value FROM json_each(:jobs))
         ORDER BY at DESC, job
         LIMIT :most) aside
 CROSS JOIN tenure_job job ON job.id = aside.job
 CROSS JOIN tenure_job_state s ON s.id = aside.job
 CROSS JOIN tenure_line line ON line.id = job.line
 WHERE :namespace IS NULL OR job.namespace = :namespace
 ORDER BY aside.at DESC, aside.job
 LIMIT :limit;
