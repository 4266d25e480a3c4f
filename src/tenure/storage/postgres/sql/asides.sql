-- Jobs that were put aside, the latest first.
SELECT aside.job, line.queue, line.definition, line.version, job.namespace, s.state, aside.fence, aside.verb, aside.code,
       aside.text, aside.at AS since_at, aside.by, aside.ending, aside.result, aside.error, count(*) OVER () AS in_all
  FROM (SELECT * FROM tenure.aside
         WHERE :jobs::uuid[] IS NULL OR aside.job = ANY (:jobs::uuid[])
         ORDER BY at DESC, aside.job
         LIMIT :most::integer) aside
 CROSS JOIN LATERAL (SELECT * FROM tenure.job WHERE job.id = aside.job LIMIT 1) job
 CROSS JOIN LATERAL (SELECT * FROM tenure.job_state WHERE job_state.id = aside.job LIMIT 1) s
 CROSS JOIN LATERAL (SELECT * FROM tenure.line WHERE line.id = job.line LIMIT 1) line
 WHERE :namespace::text IS NULL OR job.namespace = :namespace::text
 ORDER BY aside.at DESC, aside.job
 LIMIT :limit::integer;
