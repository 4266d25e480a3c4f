-- Remove the finished steps of a job whose names begin so, and save a checkpoint, both or neither, as long as the lease
-- holds. The guard lets it through while the setting stands, which ends with this transaction. The row is locked before
-- (`keep_steps.lock`).
WITH
permitted AS MATERIALIZED (
    SELECT set_config('tenure.pruning', 'on', true)
),
owned AS MATERIALIZED (
    SELECT s.id, s.fence, greatest(tenure.now(), s.updated_at) AS at
      FROM permitted
     CROSS JOIN tenure.job_state s
      JOIN tenure.lease ON lease.id = s.lease
     WHERE s.id = :job::uuid AND s.lease = :fence::bigint AND lease.owner = :worker::text
       AND lease.expires_at > tenure.now()
),
removed AS (
    DELETE FROM tenure.step USING owned
     WHERE step.job = owned.id AND step.name >= :prefix::text AND starts_with(step.name, :prefix::text)
       AND step.status IN ('done', 'skipped')
    RETURNING step.size
),
counted AS (
    UPDATE tenure.kept
       SET steps = kept.steps - gone.n, bytes = kept.bytes - gone.bytes
      FROM (SELECT count(*) AS n, coalesce(sum(size), 0) AS bytes FROM removed) gone
     WHERE kept.job = :job::uuid AND gone.n > 0
),
saved AS (
    INSERT INTO tenure.checkpoint (job, fence, at, body)
    SELECT id, fence, at, :body::text FROM owned WHERE :body::text IS NOT NULL
    ON CONFLICT (job) DO UPDATE SET fence = excluded.fence, at = excluded.at, body = excluded.body
)
SELECT (SELECT count(*) FROM removed) AS removed,
       coalesce((SELECT steps FROM tenure.kept WHERE kept.job = owned.id), 0) - (SELECT count(*) FROM removed) AS left_over
  FROM owned;
