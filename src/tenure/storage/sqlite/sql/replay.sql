-- Run finished jobs again, each as a new job in line at once. One that has not finished, or whose earlier replay is
-- still under way, is not run again; the answer says so. A key is unique among the replays of one job. A replay goes on
-- in the trace of the job that it repeats.

-- part: cleared
DELETE FROM temp.replaying;

-- part: given
INSERT INTO temp.replaying (job, replay, fresh) VALUES (?, ?, 1);

-- part: found
UPDATE temp.replaying SET state = (SELECT state FROM tenure_job_state WHERE id = replaying.job);

-- part: refused
UPDATE temp.replaying SET replay = NULL, fresh = 0
 WHERE state IS NULL OR state NOT IN ('succeeded', 'failed', 'cancelled', 'buried');

-- part: under_way
UPDATE temp.replaying SET replay = earlier.id, fresh = 0
  FROM (SELECT asked.position, coalesce(max(CASE WHEN job.key = :key THEN job.id END), max(job.id)) AS id
          FROM temp.replaying asked
         CROSS JOIN tenure_job job ON job.replay_of = asked.job
         CROSS JOIN tenure_job_state s ON s.id = job.id
         WHERE job.key = :key OR NOT :forced AND s.state NOT IN ('succeeded', 'failed', 'cancelled', 'buried')
         GROUP BY asked.position) earlier
 WHERE replaying.position = earlier.position AND replaying.fresh;

-- part: not_made
UPDATE temp.replaying SET replay = NULL, fresh = 0 WHERE fresh AND NOT :make;

-- part: recorded
INSERT INTO tenure_job (
    id, line, priority, max_attempts, created_at, timeout_ms, grace_ms, backoff_base_ms, backoff_cap_ms, on_lost,
    namespace, scope, key, params, retry_on, fatal_on, replay_of, traceparent, tags, creator, mark)
SELECT replaying.replay, line, priority, max_attempts, :now, timeout_ms, grace_ms, backoff_base_ms, backoff_cap_ms,
       on_lost, namespace, CASE WHEN :key IS NULL THEN '' ELSE 'replay:' || job.id END, :key,
       coalesce(:params, params), retry_on, fatal_on, job.id, traceparent, tags, creator, :mark
  FROM temp.replaying CROSS JOIN tenure_job job ON job.id = replaying.job
 WHERE replaying.fresh
 ORDER BY replaying.position;

-- part: placed
INSERT INTO tenure_job_state (id, line, rank, max_attempts, state, n, seq, updated_at, queued_at)
SELECT job.id, line, -priority, max_attempts, 'queued', 1,
       replaying.position + (SELECT n FROM tenure_sequence WHERE name = 'place'), :now, :now
  FROM temp.replaying CROSS JOIN tenure_job job ON job.id = replaying.replay
 WHERE replaying.fresh;

-- part: numbered
UPDATE tenure_sequence SET n = n + (SELECT max(position) FROM temp.replaying)
 WHERE name = 'place' AND EXISTS (SELECT 1 FROM temp.replaying WHERE fresh);

-- part: lined_up
INSERT INTO tenure_ready (line, rank, seq, job)
SELECT s.line, s.rank, s.seq, s.id
  FROM temp.replaying CROSS JOIN tenure_job_state s ON s.id = replaying.replay
 WHERE replaying.fresh;

-- part: tagged
INSERT INTO tenure_tag (name, job)
SELECT tag.value, job.id
  FROM temp.replaying CROSS JOIN tenure_job job ON job.id = replaying.replay CROSS JOIN json_each(job.tags) tag
 WHERE replaying.fresh AND job.tags IS NOT NULL;

-- part: tallied
INSERT INTO tenure_tally (line, state, n)
SELECT s.line, s.state, count(*)
  FROM temp.replaying CROSS JOIN tenure_job_state s ON s.id = replaying.replay
 WHERE replaying.fresh
 GROUP BY s.line, s.state
ON CONFLICT DO UPDATE SET n = n + excluded.n;

-- part: answer
SELECT job, state, replay, fresh FROM temp.replaying;
