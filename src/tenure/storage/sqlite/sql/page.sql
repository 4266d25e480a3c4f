-- A page of jobs by id, in three steps: what the filter means, which ids to look at, what is shown of those chosen.

-- part: scope
-- The first few lines that a filter means (`queued` is NULL), and those of them where jobs stand, with how many. When
-- jobs stand in very many lines, not all are named: there are too many jobs to look through in any case.
WITH RECURSIVE
filled (line) AS (
    SELECT CASE WHEN :queued THEN (SELECT min(line) FROM tenure_ready) END
     UNION ALL
    SELECT (SELECT min(line) FROM tenure_ready WHERE tenure_ready.line > filled.line) FROM filled WHERE line IS NOT NULL
)
SELECT * FROM (
    SELECT id AS line, NULL AS queued
      FROM tenure_line
     WHERE :narrow AND (:queue IS NULL OR queue = :queue) AND (:definition IS NULL OR definition = :definition)
       AND (:version IS NULL OR version = :version)
     LIMIT :few_lines + 1)
 UNION ALL
SELECT * FROM (
    SELECT line.id, tally.n
      FROM filled
     CROSS JOIN tenure_line line ON line.id = filled.line
     CROSS JOIN tenure_tally tally ON tally.line = line.id AND tally.state = 'queued'
     WHERE (:queue IS NULL OR queue = :queue) AND (:definition IS NULL OR definition = :definition)
       AND (:version IS NULL OR version = :version)
     LIMIT :few_queued + 1);

-- part: scan
-- Each stream is a sorted list of ids: the jobs of a tag, a line or a namespace, the timers of a kind, those that ended in
-- a state, or of the same, those that wait for a signal, those that were put aside, or all jobs. They are walked side by side, a hop at a time, always the one that comes first: so
-- a page looks at no more rows than its budget, however many streams there are. `up` is the id where the walk goes up,
-- `down` where it goes down. Owned jobs and those in line are few, and sorted here.
WITH RECURSIVE
walk (stream, name, up, down) AS (
    SELECT value ->> 0, value ->> 1, CASE WHEN NOT :newest_first THEN :above END, CASE WHEN :newest_first THEN :below END
      FROM json_each(:streams)
     UNION ALL
    SELECT stream, name,
           CASE WHEN :newest_first THEN NULL
                WHEN stream = 'tag'
                THEN (SELECT min(job) FROM tenure_tag WHERE name = walk.name AND job > walk.up AND job < :below)
                WHEN stream = 'line'
                THEN (SELECT min(id) FROM tenure_job WHERE line = walk.name AND id > walk.up AND id < :below)
                WHEN stream = 'namespace'
                THEN (SELECT min(id) FROM tenure_job
                       WHERE namespace = walk.name AND namespace <> 'default' AND id > walk.up AND id < :below)
                WHEN stream = 'timer'
                THEN (SELECT min(job) FROM tenure_timer WHERE kind = walk.name AND job > walk.up AND job < :below)
                WHEN stream = 'finished'
                THEN (SELECT min(job) FROM tenure_finished WHERE state = walk.name AND job > walk.up AND job < :below)
                WHEN stream = 'fingerprint'
                THEN (SELECT min(job) FROM tenure_finished
                       WHERE fingerprint = walk.name AND job > walk.up AND job < :below)
                WHEN stream = 'signal'
                THEN (SELECT min(job) FROM tenure_wait WHERE signal = walk.name AND job > walk.up AND job < :below)
                WHEN stream = 'aside'
                THEN (SELECT min(job) FROM tenure_aside WHERE job > walk.up AND job < :below)
                ELSE (SELECT min(id) FROM tenure_job WHERE id > walk.up AND id < :below)
           END,
           CASE WHEN NOT :newest_first THEN NULL
                WHEN stream = 'tag'
                THEN (SELECT max(job) FROM tenure_tag WHERE name = walk.name AND job < walk.down AND job > :above)
                WHEN stream = 'line'
                THEN (SELECT max(id) FROM tenure_job WHERE line = walk.name AND id < walk.down AND id > :above)
                WHEN stream = 'namespace'
                THEN (SELECT max(id) FROM tenure_job
                       WHERE namespace = walk.name AND namespace <> 'default' AND id < walk.down AND id > :above)
                WHEN stream = 'timer'
                THEN (SELECT max(job) FROM tenure_timer WHERE kind = walk.name AND job < walk.down AND job > :above)
                WHEN stream = 'finished'
                THEN (SELECT max(job) FROM tenure_finished WHERE state = walk.name AND job < walk.down AND job > :above)
                WHEN stream = 'fingerprint'
                THEN (SELECT max(job) FROM tenure_finished
                       WHERE fingerprint = walk.name AND job < walk.down AND job > :above)
                WHEN stream = 'signal'
                THEN (SELECT max(job) FROM tenure_wait WHERE signal = walk.name AND job < walk.down AND job > :above)
                WHEN stream = 'aside'
                THEN (SELECT max(job) FROM tenure_aside WHERE job < walk.down AND job > :above)
                ELSE (SELECT max(id) FROM tenure_job WHERE id < walk.down AND id > :above)
           END
      FROM walk
     WHERE coalesce(up, down) IS NOT NULL
     ORDER BY 3 NULLS LAST, 4 DESC
     LIMIT :budget + json_array_length(:streams)
),
looked_at (id) AS (
    SELECT * FROM (
        SELECT coalesce(up, down) AS id FROM walk WHERE up > :above OR down < :below
         UNION ALL
        SELECT member.value
          FROM tenure_lease lease
         CROSS JOIN json_each(lease.jobs) member
         CROSS JOIN tenure_job_state s ON s.id = member.value AND s.lease = lease.id
         WHERE :owned AND member.value > :above AND member.value < :below
         UNION ALL
        SELECT ready.job
          FROM json_each(:filled) filled CROSS JOIN tenure_ready ready ON ready.line = filled.value
         WHERE ready.job > :above AND ready.job < :below)
     ORDER BY CASE WHEN :newest_first THEN id END DESC, id
     LIMIT :budget
)
SELECT looked_at.id, s.state,
       (:states IS NULL OR s.state IN (SELECT value FROM json_each(:states)))
       AND (:queue IS NULL OR line.queue = :queue)
       AND (:definition IS NULL OR line.definition = :definition)
       AND (:version IS NULL OR line.version = :version)
       AND (:namespace IS NULL OR job.namespace = :namespace)
       AND (:created_after IS NULL OR job.created_at > :created_after)
       AND (:created_before IS NULL OR job.created_at < :created_before)
       AND (:fingerprint IS NULL
            OR EXISTS (SELECT 1 FROM tenure_finished ended
                        WHERE ended.state = s.state AND ended.job = looked_at.id
                          AND ended.fingerprint = :fingerprint))
       AND (:waiting_for IS NULL
            OR (s.state = 'suspended'
                AND EXISTS (SELECT 1 FROM tenure_wait wait
                             WHERE wait.job = looked_at.id AND wait.fence = s.fence AND wait.signal = :waiting_for)))
       AS matches
  FROM looked_at
 CROSS JOIN tenure_job_state s ON s.id = looked_at.id
 CROSS JOIN tenure_line line ON line.id = s.line
  -- What was asked is read only where something is compared with it.
  LEFT JOIN tenure_job job
    ON job.id = CASE WHEN coalesce(:namespace, :created_after, :created_before) IS NOT NULL THEN looked_at.id END
 ORDER BY CASE WHEN :newest_first THEN looked_at.id END DESC, looked_at.id;

-- part: rows
-- A later look than `scan`: a job that has moved on is left out.
SELECT job.id, job.namespace, line.definition, line.version, line.queue, job.priority, job.tags, job.key, job.parent,
       job.replay_of, s.state, s.attempt, s.max_attempts, job.created_at, job.run_at, s.due_at, s.queued_at, s.started_at,
       s.finished_at, s.updated_at, (SELECT at FROM tenure_aside aside WHERE aside.job = s.id) AS aside_at
  FROM json_each(:jobs) chosen
 CROSS JOIN tenure_job job ON job.id = chosen.value
 CROSS JOIN tenure_job_state s ON s.id = job.id
 CROSS JOIN tenure_line line ON line.id = job.line
 WHERE :states IS NULL OR s.state IN (SELECT value FROM json_each(:states))
 ORDER BY chosen.key;
