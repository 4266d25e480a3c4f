-- Keep a signal for a job, unless it has finished. The first of a name stands. The row is locked before (`keep_steps.lock`),
-- and `rouse` follows: so a job that begins to wait at this moment has seen it, or is seen.
WITH
found AS MATERIALIZED (
    SELECT s.id, s.state, greatest(tenure.now(), s.updated_at) AS at FROM tenure.job_state s WHERE s.id = :job::uuid
),
before AS MATERIALIZED (
    SELECT body FROM tenure.signal WHERE job = :job::uuid AND name = :name::text
),
kept AS (
    INSERT INTO tenure.signal (job, name, at, by, body)
    SELECT id, :name::text, at, :by::text, :body::text
      FROM found
     WHERE state NOT IN ('succeeded', 'failed', 'cancelled', 'buried')
       AND NOT EXISTS (SELECT FROM before)
       AND (SELECT count(*) FROM (SELECT FROM tenure.signal
                                   WHERE job = :job::uuid LIMIT :most::integer) few) < :most::integer
    RETURNING job
)
SELECT found.state,
       CASE WHEN EXISTS (SELECT FROM kept)                                       THEN 'kept'
            WHEN (SELECT body FROM before) = :body::text                         THEN 'repeated'
            WHEN EXISTS (SELECT FROM before)                                     THEN 'differs'
            WHEN found.state IN ('succeeded', 'failed', 'cancelled', 'buried')   THEN 'finished'
            ELSE 'full'
       END AS delivered
  FROM found;
