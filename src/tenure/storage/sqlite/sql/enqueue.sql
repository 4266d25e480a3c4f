-- Record jobs, all or none. A key or an id that is already taken leaves its first job untouched.

-- part: given
INSERT INTO temp.given_job VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- part: drop_taken
-- Of those that stay here, each is new: neither its key nor its id is in the database or earlier in the call.
DELETE FROM temp.given_job
 WHERE EXISTS (SELECT 1 FROM tenure_job
                WHERE namespace = given_job.namespace AND scope = given_job.scope AND key = given_job.key)
    OR EXISTS (SELECT 1 FROM tenure_job WHERE id = given_job.id)
    OR EXISTS (SELECT 1 FROM temp.given_job earlier
                WHERE earlier.id = given_job.id AND earlier.position < given_job.position)
    OR EXISTS (SELECT 1 FROM temp.given_job earlier
                WHERE earlier.key = given_job.key AND earlier.scope = given_job.scope
                  AND earlier.namespace = given_job.namespace AND earlier.position < given_job.position);

-- part: sized
-- The first job that brings a limit sets its size.
INSERT INTO tenure_limit_size (name, size)
SELECT part.value ->> 'name', part.value ->> 'size'
  FROM temp.given_job asked CROSS JOIN json_each(asked.limits) part
 WHERE asked.limits <> '[]'
 ORDER BY asked.position
ON CONFLICT DO NOTHING;

-- part: limited
INSERT INTO tenure_limited (name, key)
SELECT part.value ->> 'name', part.value ->> 'key'
  FROM temp.given_job asked CROSS JOIN json_each(asked.limits) part
 WHERE asked.limits <> '[]'
ON CONFLICT DO NOTHING;

-- part: resolved
UPDATE temp.given_job
   SET limits = (SELECT json_group_array(limited.id ORDER BY limited.id)
                   FROM json_each(given_job.limits) part
                   JOIN tenure_limited limited
                     ON limited.name = part.value ->> 'name' AND limited.key = part.value ->> 'key')
 WHERE limits <> '[]';

-- part: lines
INSERT INTO tenure_line (queue, definition, version, limits)
SELECT DISTINCT queue, definition, version, limits FROM temp.given_job WHERE true
ON CONFLICT DO NOTHING;

-- part: recorded
INSERT INTO tenure_job (
    id, line, priority, max_attempts, created_at, run_at, timeout_ms, grace_ms, backoff_base_ms, backoff_cap_ms,
    on_lost, namespace, scope, params, params_hash, key, retry_on, fatal_on, parent, replay_of, traceparent,
    tags, creator, mark)
SELECT asked.id, line.id, priority, max_attempts, :now, coalesce(run_at, :now + delay), timeout_ms, grace_ms,
       backoff_base_ms, backoff_cap_ms, on_lost, namespace, scope, params, params_hash, key, retry_on, fatal_on,
       parent, replay_of, traceparent, tags, creator, :mark
  FROM temp.given_job asked
 CROSS JOIN tenure_line line USING (queue, definition, version, limits)
 WHERE line.share = ''
 ORDER BY position;

-- part: placed
INSERT INTO tenure_job_state (id, line, rank, max_attempts, state, n, seq, updated_at, due_at, queued_at)
SELECT id, line, -priority, max_attempts, state, 1, seq, :now,
       CASE WHEN state <> 'queued' THEN due_at END, CASE WHEN state = 'queued' THEN :now END
  FROM (SELECT job.id, job.line, job.priority, job.max_attempts, job.run_at AS due_at,
               place.n + asked.position AS seq,
               CASE WHEN asked.hold THEN 'created' WHEN job.run_at > :now THEN 'scheduled' ELSE 'queued' END AS state
          FROM temp.given_job asked
          CROSS JOIN tenure_job job ON job.id = asked.id
          JOIN tenure_sequence place ON place.name = 'place');

-- part: numbered
UPDATE tenure_sequence SET n = n + :count WHERE name = 'place';

-- part: lined_up
INSERT INTO tenure_ready (line, rank, seq, job)
SELECT s.line, s.rank, s.seq, s.id
  FROM temp.given_job asked CROSS JOIN tenure_job_state s ON s.id = asked.id
 WHERE s.state = 'queued';

-- part: timed
-- Held jobs wait at the end of time.
INSERT INTO tenure_timer (due_at, job, kind)
SELECT CASE WHEN s.state = 'created' THEN 9223372036854775807 ELSE s.due_at END, s.id,
       CASE WHEN s.state = 'created' THEN 'hold' ELSE 'scheduled' END
  FROM temp.given_job asked CROSS JOIN tenure_job_state s ON s.id = asked.id
 WHERE s.state <> 'queued';

-- part: tagged
INSERT INTO tenure_tag (name, job)
SELECT tag.value, asked.id FROM temp.given_job asked CROSS JOIN json_each(asked.tags) tag WHERE asked.tags IS NOT NULL;

-- part: tallied
INSERT INTO tenure_tally (line, state, n)
SELECT s.line, s.state, count(*)
  FROM temp.given_job asked CROSS JOIN tenure_job_state s ON s.id = asked.id
 GROUP BY s.line, s.state
ON CONFLICT DO UPDATE SET n = n + excluded.n;

-- part: answer
SELECT asked.position, s.state
  FROM temp.given_job asked CROSS JOIN tenure_job_state s ON s.id = asked.id;

-- part: find
-- Which job took a key or an id first. Jobs recorded with neither key nor id have no hash; their params are compared as
-- they stand.
SELECT job.id, s.state,
       line.definition = :definition AND line.version = :version AND job.namespace = :namespace
       AND job.scope = :scope AND job.key IS :key
       AND coalesce(job.params_hash = :params_hash, job.params = :params) AS matches
  FROM (SELECT 1 AS choice, * FROM tenure_job WHERE namespace = :namespace AND scope = :scope AND key = :key
         UNION ALL
        SELECT 2 AS choice, * FROM tenure_job WHERE id = :id
         ORDER BY choice
         LIMIT 1) job
  JOIN tenure_job_state s ON s.id = job.id
  JOIN tenure_line line ON line.id = job.line;
