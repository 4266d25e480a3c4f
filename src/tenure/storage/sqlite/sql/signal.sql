-- Keep a signal for a job, unless it has finished. The first of a name stands. `rouse` follows in the same transaction.

-- part: told
SELECT s.state,
       CASE WHEN known.body = :body                                          THEN 'repeated'
            WHEN known.body IS NOT NULL                                      THEN 'differs'
            WHEN s.state IN ('succeeded', 'failed', 'cancelled', 'buried')   THEN 'finished'
            WHEN (SELECT count(*) FROM (SELECT 1 FROM tenure_signal
                                         WHERE job = :job LIMIT :most)) >= :most THEN 'full'
            ELSE 'kept'
       END AS delivered
  FROM tenure_job_state s
  LEFT JOIN tenure_signal known ON known.job = s.id AND known.name = :name
 WHERE s.id = :job;

-- part: keep
INSERT INTO tenure_signal (job, name, at, by, body) VALUES (:job, :name, :now, :by, :body);
