-- Every line with its totals, its oldest waiting job, its pause and how many live workers serve it. Jobs under
-- different limits stand in lines of their own but count as one here.
WITH RECURSIVE
counted AS (
    SELECT queue, definition, version, json_object_agg(state, n)::text AS counts
      FROM (SELECT queue, definition, version, state, sum(n)::bigint AS n
              FROM tenure.tally JOIN tenure.line ON line.id = tally.line
             GROUP BY queue, definition, version, state) totals
     GROUP BY queue, definition, version
),
place (line, rank) AS (
    (SELECT line, rank FROM tenure.ready WHERE line > 0 ORDER BY line, rank LIMIT 1)
    UNION ALL
    SELECT next.line, next.rank
      FROM place
     CROSS JOIN LATERAL (SELECT ready.line, ready.rank FROM tenure.ready
                          WHERE (ready.line, ready.rank) > (place.line, place.rank)
                          ORDER BY ready.line, ready.rank LIMIT 1) next
),
waiting AS (
    SELECT queue, definition, version, min(head.queued_at) AS oldest_at
      FROM place
      JOIN tenure.line ON line.id = place.line
     CROSS JOIN LATERAL (SELECT s.queued_at
                           FROM tenure.ready JOIN tenure.job_state s ON s.id = ready.job
                          WHERE ready.line = place.line AND ready.rank = place.rank
                          ORDER BY ready.line, ready.rank, ready.seq LIMIT 1) head
     GROUP BY queue, definition, version
),
served AS (
    SELECT named ->> 0 AS queue, named ->> 1 AS definition, (named ->> 2)::integer AS version,
           count(DISTINCT worker.id) AS workers
      FROM tenure.worker CROSS JOIN json_array_elements(lines::json) AS named
     WHERE seen_at >= tenure.now() - :alive::interval
     GROUP BY 1, 2, 3
)
SELECT queue, definition, version, counted.counts, waiting.oldest_at, coalesce(served.workers, 0) AS workers,
       paused.at AS paused_at, paused.until AS paused_until_at, paused.by AS paused_by, paused.reason AS pause_reason
  FROM (SELECT queue, definition, version FROM tenure.line
         UNION
        SELECT queue, definition, version FROM tenure.pause
         WHERE definition <> '' AND (until IS NULL OR until > tenure.now())) line
  LEFT JOIN counted USING (queue, definition, version)
  LEFT JOIN waiting USING (queue, definition, version)
  LEFT JOIN served USING (queue, definition, version)
  LEFT JOIN LATERAL (
           SELECT at, until, by, reason FROM tenure.pause
            WHERE pause.queue = line.queue
              AND (pause.definition, pause.version) IN (('', 0), (line.definition, line.version))
              AND (pause.until IS NULL OR pause.until > tenure.now())
            ORDER BY pause.definition DESC
            LIMIT 1
       ) paused ON true
 ORDER BY queue COLLATE "C", definition COLLATE "C", version;
