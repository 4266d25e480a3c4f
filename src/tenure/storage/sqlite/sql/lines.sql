-- Every line that has or had jobs, is paused by its name or is served by a live worker, with its totals, its oldest waiting job,
-- the narrowest of its pauses and how many such workers serve it. Jobs under different limits stand in lines of their
-- own but count as one here. The table of lines has more: those that workers served, those of jobs that were refused.
WITH RECURSIVE
counted (queue, definition, version, counts) AS (
    SELECT queue, definition, version, json_group_object(state, n)
      FROM (SELECT queue, definition, version, state, sum(n) AS n
              FROM tenure_tally tally CROSS JOIN tenure_line line ON line.id = tally.line
             GROUP BY queue, definition, version, state)
     GROUP BY queue, definition, version
),
filled (line) AS (
    SELECT min(line) FROM tenure_ready
     UNION ALL
    SELECT (SELECT min(line) FROM tenure_ready WHERE tenure_ready.line > filled.line) FROM filled WHERE line IS NOT NULL
),
hop (line, rank) AS (
    SELECT line, (SELECT min(rank) FROM tenure_ready WHERE tenure_ready.line = filled.line)
      FROM filled WHERE line IS NOT NULL
     UNION ALL
    SELECT line, (SELECT min(rank) FROM tenure_ready
                   WHERE tenure_ready.line = hop.line AND tenure_ready.rank > hop.rank)
      FROM hop WHERE rank IS NOT NULL
),
waiting (queue, definition, version, oldest_at) AS (
    SELECT queue, definition, version, min(s.queued_at)
      FROM (SELECT line, (SELECT job FROM tenure_ready
                           WHERE tenure_ready.line = hop.line AND tenure_ready.rank = hop.rank
                           ORDER BY seq LIMIT 1) AS job
              FROM hop WHERE rank IS NOT NULL) head
     CROSS JOIN tenure_job_state s ON s.id = head.job
     CROSS JOIN tenure_line line ON line.id = head.line
     GROUP BY queue, definition, version
),
-- Values of known types, else SQLite would search through all of them for each line.
served (queue, definition, version, workers) AS (
    SELECT CAST(line.value ->> 0 AS TEXT), CAST(line.value ->> 1 AS TEXT), CAST(line.value ->> 2 AS INTEGER),
           count(DISTINCT worker.id)
      FROM tenure_worker worker CROSS JOIN json_each(worker.lines) line
     WHERE worker.seen_at >= :now - :alive
     GROUP BY 1, 2, 3
),
known (queue, definition, version) AS (
    SELECT queue, definition, version FROM counted
     UNION
    SELECT queue, definition, version FROM waiting
     UNION
    SELECT queue, definition, version FROM served
     UNION
    SELECT queue, definition, version FROM tenure_pause
     WHERE queue <> '' AND definition <> '' AND version <> 0 AND (until IS NULL OR until > :now)
)
SELECT known.queue, known.definition, known.version, counted.counts, waiting.oldest_at,
       coalesce(served.workers, 0) AS workers, pause.queue AS pause_queue, pause.definition AS pause_definition,
       pause.version AS pause_version, pause.at AS paused_at, pause.until AS paused_until_at, pause.by AS paused_by,
       pause.reason AS pause_reason
  FROM known
  LEFT JOIN counted USING (queue, definition, version)
  LEFT JOIN waiting USING (queue, definition, version)
  LEFT JOIN served USING (queue, definition, version)
  LEFT JOIN tenure_pause pause
    ON (pause.queue, pause.definition, pause.version) = (
           SELECT queue, definition, version
             FROM tenure_pause held
            WHERE held.queue IN ('', known.queue) AND held.definition IN ('', known.definition)
              AND held.version IN (0, known.version) AND (held.until IS NULL OR held.until > :now)
            ORDER BY held.definition = '', held.version = 0, held.queue = '' LIMIT 1)
 ORDER BY known.queue, known.definition, known.version;
