-- Schedules whose next tick is due, with the jobs of earlier ticks that have not ended, where they ask about those. Those
-- that this process cannot read are left to others. While another process records what fires, only what is late by two
-- seconds is answered, which that process seems not to get done: this saves work, and nothing depends on it.
WITH turn AS MATERIALIZED (
    SELECT pg_try_advisory_xact_lock_shared(7308325449218352743) AS is_free
)
SELECT schedule.*, tenure.now() AS now_at,
       ARRAY(SELECT tick.job
               FROM tenure.tick
               JOIN tenure.job_state s ON s.id = tick.job AND s.finished_at IS NULL
              WHERE tick.is_open AND tick.namespace = schedule.namespace AND tick.schedule = schedule.name
              ORDER BY tick.at
              LIMIT 100) AS open_jobs
  FROM tenure.schedule
 WHERE next_at <= (SELECT tenure.now() - CASE WHEN is_free THEN interval '0' ELSE interval '2 seconds' END FROM turn)
   AND paused_at IS NULL
   AND (namespace, name, created_at, revision) NOT IN (SELECT * FROM unnest(:alone_namespaces::text[], :alone_names::text[],
                                                               :alone_made_at::timestamptz[], :alone_revisions::integer[]))
 ORDER BY next_at
 LIMIT :limit::integer;
