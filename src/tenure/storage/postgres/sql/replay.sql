-- Run finished jobs again, each as a new job. Two statements in one transaction: the first locks the jobs, so that
-- pruning leaves them alone and a second replay waits; the second then sees a replay made meanwhile. A key is unique
-- among the replays of one job. A replay goes on in the trace of the job that it repeats.

-- part: lock
SELECT id FROM tenure.job_state WHERE id = ANY (:ids::uuid[]) ORDER BY id FOR UPDATE;

-- part: record
WITH
found AS MATERIALIZED (
    SELECT asked.*, s.state, earlier.id AS earlier, nextval('tenure.place') AS seq,
           s.state IN ('succeeded', 'failed', 'cancelled', 'buried') AND earlier.id IS NULL
           AND :make::boolean AS fresh
      FROM unnest(:ids::uuid[], :new_ids::uuid[]) AS asked (job, replay)
      JOIN tenure.job_state s ON s.id = asked.job
      LEFT JOIN LATERAL (
               SELECT job.id
                 FROM tenure.job JOIN tenure.job_state theirs ON theirs.id = job.id
                WHERE job.replay_of = asked.job
                  AND s.state IN ('succeeded', 'failed', 'cancelled', 'buried')
                  AND (job.key = :key::text
                       OR NOT :forced::boolean AND theirs.state NOT IN ('succeeded', 'failed', 'cancelled', 'buried'))
                ORDER BY coalesce(job.key = :key::text, false) DESC, job.id DESC
                LIMIT 1
           ) earlier ON true
),
recorded AS (
    INSERT INTO tenure.job (
        id, line, priority, max_attempts, created_at, timeout_ms, grace_ms, backoff_base_ms, backoff_cap_ms, on_lost,
        namespace, scope, key, params, retry_on, fatal_on, replay_of, traceparent, tags, creator)
    SELECT found.replay, job.line, job.priority, job.max_attempts, tenure.now(), job.timeout_ms, job.grace_ms,
           job.backoff_base_ms, job.backoff_cap_ms, job.on_lost, job.namespace,
           CASE WHEN :key::text IS NULL THEN '' ELSE 'replay:' || found.job END, :key::text,
           coalesce(:params::text, job.params), job.retry_on, job.fatal_on, found.job,
           job.traceparent, job.tags, job.creator
      FROM found JOIN tenure.job ON job.id = found.job
     WHERE found.fresh
    RETURNING id, line, priority, max_attempts, replay_of, tags
),
placed AS (
    INSERT INTO tenure.job_state (id, line, rank, max_attempts, state, n, seq, updated_at, queued_at)
    SELECT recorded.id, line, -priority, max_attempts, 'queued', 1, found.seq, tenure.now(), tenure.now()
      FROM recorded JOIN found ON found.replay = recorded.id
    RETURNING id, line, rank, seq
),
lined_up AS (
    INSERT INTO tenure.ready (line, rank, seq, job) SELECT line, rank, seq, id FROM placed
),
tagged AS (
    INSERT INTO tenure.tag (name, job)
    SELECT name, id FROM recorded CROSS JOIN json_array_elements_text(tags::json) AS name WHERE tags IS NOT NULL
),
tallied AS (
    INSERT INTO tenure.tally (line, state, n) SELECT line, 'queued', count(*) FROM placed GROUP BY line
)
SELECT found.job, found.state, CASE WHEN found.fresh THEN found.replay ELSE found.earlier END AS replay, found.fresh,
       placed.line, placed.rank
  FROM found LEFT JOIN placed ON placed.id = found.replay;
