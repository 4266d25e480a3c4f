-- A page of jobs by id, in three steps: what the filter means, which ids to look at, what is shown of those chosen.

-- part: scope
-- The lines that a filter means, and how many jobs stand in each.
SELECT id AS line, sum(n)::bigint AS queued
  FROM (SELECT id, 0 AS n, queue, definition, version FROM tenure.line
         UNION ALL
        SELECT line.id, standing.n, queue, definition, version
          FROM (SELECT line, sum(n) AS n FROM tenure.tally WHERE :queued::boolean AND state = 'queued' GROUP BY line) standing
         CROSS JOIN LATERAL (SELECT * FROM tenure.line WHERE line.id = standing.line LIMIT 1) line) known   -- a look-up
 WHERE (:queue::text IS NULL OR queue = :queue::text)
   AND (:definition::text IS NULL OR definition = :definition::text)
   AND (:version::integer IS NULL OR version = :version::integer)
 GROUP BY id;

-- part: scan
-- Each way is a branch that costs nothing while it is switched off: a condition without columns is looked at once.
-- A branch brings no more rows than the budget, in the order of ids, so the first of them all are the first there are.
WITH
looked_at AS MATERIALIZED (
    SELECT id FROM (
        (SELECT id FROM tenure.job
          WHERE :by_id::boolean AND :ascending::boolean AND id >= :low::uuid AND id <= :high::uuid
          ORDER BY id LIMIT :budget::integer)
        UNION ALL
        (SELECT id FROM tenure.job
          WHERE :by_id::boolean AND NOT :ascending::boolean AND id >= :low::uuid AND id <= :high::uuid
          ORDER BY id DESC LIMIT :budget::integer)
        UNION ALL
        (SELECT id FROM tenure.job
          WHERE :by_namespace::boolean AND :ascending::boolean AND namespace = :namespace::text AND namespace <> 'default'
            AND id >= :low::uuid AND id <= :high::uuid
          ORDER BY id LIMIT :budget::integer)
        UNION ALL
        (SELECT id FROM tenure.job
          WHERE :by_namespace::boolean AND NOT :ascending::boolean AND namespace = :namespace::text AND namespace <> 'default'
            AND id >= :low::uuid AND id <= :high::uuid
          ORDER BY id DESC LIMIT :budget::integer)
        UNION ALL
        SELECT found.id FROM unnest(:lines::integer[]) AS wanted (line) CROSS JOIN LATERAL (
            (SELECT id FROM tenure.job
              WHERE :by_line::boolean AND :ascending::boolean AND job.line = wanted.line
                AND id >= :low::uuid AND id <= :high::uuid
              ORDER BY id LIMIT :budget::integer)
            UNION ALL
            (SELECT id FROM tenure.job
              WHERE :by_line::boolean AND NOT :ascending::boolean AND job.line = wanted.line
                AND id >= :low::uuid AND id <= :high::uuid
              ORDER BY id DESC LIMIT :budget::integer)) found
        UNION ALL
        (SELECT job FROM tenure.tag
          WHERE :by_tag::boolean AND :ascending::boolean AND name = :tag::text AND job >= :low::uuid AND job <= :high::uuid
          ORDER BY job LIMIT :budget::integer)
        UNION ALL
        (SELECT job FROM tenure.tag
          WHERE :by_tag::boolean AND NOT :ascending::boolean AND name = :tag::text
            AND job >= :low::uuid AND job <= :high::uuid
          ORDER BY job DESC LIMIT :budget::integer)
        UNION ALL
        (SELECT job FROM tenure.finished
          WHERE :by_fingerprint::boolean AND :ascending::boolean AND fingerprint = :fingerprint::text
            AND job >= :low::uuid AND job <= :high::uuid
          ORDER BY job LIMIT :budget::integer)
        UNION ALL
        (SELECT job FROM tenure.finished
          WHERE :by_fingerprint::boolean AND NOT :ascending::boolean AND fingerprint = :fingerprint::text
            AND job >= :low::uuid AND job <= :high::uuid
          ORDER BY job DESC LIMIT :budget::integer)
        UNION ALL
        (SELECT job FROM tenure.wait
          WHERE :by_signal::boolean AND :ascending::boolean AND signal = :waiting_for::text
            AND job >= :low::uuid AND job <= :high::uuid
          ORDER BY job LIMIT :budget::integer)
        UNION ALL
        (SELECT job FROM tenure.wait
          WHERE :by_signal::boolean AND NOT :ascending::boolean AND signal = :waiting_for::text
            AND job >= :low::uuid AND job <= :high::uuid
          ORDER BY job DESC LIMIT :budget::integer)
        UNION ALL
        SELECT found.job FROM unnest(:kinds::text[]) AS wanted (kind) CROSS JOIN LATERAL (
            (SELECT job FROM tenure.timer
              WHERE :ascending::boolean AND timer.kind = wanted.kind AND job >= :low::uuid AND job <= :high::uuid
              ORDER BY job LIMIT :budget::integer)
            UNION ALL
            (SELECT job FROM tenure.timer
              WHERE NOT :ascending::boolean AND timer.kind = wanted.kind AND job >= :low::uuid AND job <= :high::uuid
              ORDER BY job DESC LIMIT :budget::integer)) found
        UNION ALL
        SELECT found.job FROM unnest(:ended::tenure.state[]) AS wanted (state) CROSS JOIN LATERAL (
            (SELECT job FROM tenure.finished
              WHERE :ascending::boolean AND finished.state = wanted.state AND job >= :low::uuid AND job <= :high::uuid
              ORDER BY job LIMIT :budget::integer)
            UNION ALL
            (SELECT job FROM tenure.finished
              WHERE NOT :ascending::boolean AND finished.state = wanted.state AND job >= :low::uuid AND job <= :high::uuid
              ORDER BY job DESC LIMIT :budget::integer)) found
        UNION ALL
        (SELECT job FROM tenure.aside
          WHERE :aside::boolean AND :ascending::boolean AND job >= :low::uuid AND job <= :high::uuid
          ORDER BY job LIMIT :budget::integer)
        UNION ALL
        (SELECT job FROM tenure.aside
          WHERE :aside::boolean AND NOT :ascending::boolean AND job >= :low::uuid AND job <= :high::uuid
          ORDER BY job DESC LIMIT :budget::integer)
        UNION ALL
        SELECT member.job FROM tenure.lease CROSS JOIN unnest(lease.jobs) AS member (job)
         WHERE :owned::boolean AND member.job >= :low::uuid AND member.job <= :high::uuid
        UNION ALL
        SELECT found.job FROM unnest(:queued::integer[]) AS wanted (line) CROSS JOIN LATERAL (
            SELECT job FROM tenure.ready WHERE ready.line = wanted.line
             ORDER BY ready.line, ready.rank, ready.seq LIMIT :most_queued::integer) found
         WHERE found.job >= :low::uuid AND found.job <= :high::uuid
    ) branches
     GROUP BY id
     ORDER BY CASE WHEN :ascending::boolean THEN id END, CASE WHEN NOT :ascending::boolean THEN id END DESC
     LIMIT :budget::integer
)
SELECT looked_at.id, s.state,
       coalesce(
       (:states::tenure.state[] IS NULL OR s.state = ANY (:states::tenure.state[]))
       AND (:lines::integer[] IS NULL OR s.line = ANY (:lines::integer[]))
       AND (:namespace::text IS NULL OR job.namespace = :namespace::text)
       AND (:created_after::timestamptz IS NULL OR job.created_at > :created_after::timestamptz)
       AND (:created_before::timestamptz IS NULL OR job.created_at < :created_before::timestamptz)
       AND (:fingerprint::text IS NULL
            OR (SELECT fingerprint = :fingerprint::text FROM tenure.finished
                 WHERE finished.state = s.state AND finished.job = looked_at.id))
       AND (:waiting_for::text IS NULL
            OR (s.state = 'suspended'
                AND (SELECT signal = :waiting_for::text FROM tenure.wait
                      WHERE wait.job = looked_at.id AND wait.fence = s.fence))), false) AS matches
  FROM looked_at
  -- LIMIT keeps these look-ups. What was asked is read only where something is compared with it.
  LEFT JOIN LATERAL (SELECT state, line, fence FROM tenure.job_state WHERE job_state.id = looked_at.id LIMIT 1) s ON true
  LEFT JOIN LATERAL (SELECT namespace, created_at FROM tenure.job
                      WHERE job.id = looked_at.id
                        AND (:namespace::text IS NOT NULL OR :created_after::timestamptz IS NOT NULL
                             OR :created_before::timestamptz IS NOT NULL)
                      LIMIT 1) job ON true
 ORDER BY CASE WHEN :ascending::boolean THEN looked_at.id END,
          CASE WHEN NOT :ascending::boolean THEN looked_at.id END DESC;

-- part: rows
SELECT job.id, job.namespace, line.definition, line.version, line.queue, job.priority, job.tags, job.key, job.parent,
       job.replay_of, s.state, s.attempt, s.max_attempts, job.created_at, job.run_at, s.due_at, s.queued_at, s.started_at,
       s.finished_at, s.updated_at, (SELECT at FROM tenure.aside WHERE aside.job = s.id) AS aside_at
  FROM unnest(:ids::uuid[]) WITH ORDINALITY AS chosen (id, position)
  JOIN tenure.job ON job.id = chosen.id
  JOIN tenure.line ON line.id = job.line
  JOIN tenure.job_state s ON s.id = chosen.id
 WHERE :states::tenure.state[] IS NULL OR s.state = ANY (:states::tenure.state[])
 ORDER BY chosen.position;
