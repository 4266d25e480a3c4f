-- Every line that has or had jobs, is paused by its name or is served by a live worker, with its totals, its oldest waiting job,
-- the narrowest of its pauses and how many such workers serve it. Jobs under different limits stand in lines of their
-- own but count as one here. The table of lines has more: those that workers served, those of jobs that were refused.
WITH RECURSIVE
place (line, rank, job) AS (
    (SELECT line, rank, job FROM tenure.ready WHERE line > 0 ORDER BY line, rank, seq LIMIT 1)
    UNION ALL
    SELECT next.*
      FROM place
     CROSS JOIN LATERAL (SELECT ready.line, ready.rank, ready.job FROM tenure.ready
                          WHERE (ready.line, ready.rank) > (place.line, place.rank)
                          ORDER BY ready.line, ready.rank, ready.seq LIMIT 1) next
),
-- One row for each thing known of a line, so that they are put together by sorting and not by comparing all with all.
-- LIMIT keeps what is found by a line's number a look-up: planned while there are few lines, it would be a comparison too.
known AS (
    SELECT queue, definition, version, NULL::tenure.state AS state, 0 AS n, NULL::timestamptz AS oldest_at, 0 AS workers
      FROM tenure.pause
     WHERE queue <> '' AND definition <> '' AND version <> 0 AND (until IS NULL OR until > tenure.now())
     UNION ALL
    SELECT line.queue, line.definition, line.version, total.state, sum(total.n), NULL, 0
      FROM (SELECT line, state, sum(n) AS n FROM tenure.tally GROUP BY line, state) total
     CROSS JOIN LATERAL (SELECT queue, definition, version FROM tenure.line WHERE line.id = total.line LIMIT 1) line
     GROUP BY line.queue, line.definition, line.version, total.state
     UNION ALL
    SELECT line.queue, line.definition, line.version, NULL, 0, head.queued_at, 0
      FROM place
     CROSS JOIN LATERAL (SELECT queue, definition, version FROM tenure.line WHERE line.id = place.line LIMIT 1) line
     CROSS JOIN LATERAL (SELECT queued_at FROM tenure.job_state WHERE job_state.id = place.job LIMIT 1) head
     UNION ALL
    SELECT named ->> 0, named ->> 1, (named ->> 2)::integer, NULL, 0, NULL, count(DISTINCT worker.id)
      FROM tenure.worker CROSS JOIN json_array_elements(lines::json) AS named
     WHERE seen_at >= tenure.now() - :alive::interval
     GROUP BY 1, 2, 3
)
SELECT line.*, paused.queue AS pause_queue, paused.definition AS pause_definition, paused.version AS pause_version,
       paused.at AS paused_at, paused.until AS paused_until_at, paused.by AS paused_by,
       paused.reason AS pause_reason
  FROM (SELECT queue, definition, version, min(oldest_at) AS oldest_at, sum(workers)::bigint AS workers,
               (json_object_agg(state, n) FILTER (WHERE state IS NOT NULL))::text AS counts
          FROM known
         GROUP BY queue, definition, version) line
  LEFT JOIN LATERAL (
           SELECT found.*
             FROM (VALUES (line.queue, line.definition, line.version), ('', line.definition, line.version),
                          (line.queue, line.definition, 0), ('', line.definition, 0), (line.queue, '', 0))
                  AS whose (queue, definition, version)
            CROSS JOIN LATERAL (SELECT queue, definition, version, at, until, by, reason FROM tenure.pause
                                 WHERE pause.queue = whose.queue AND pause.definition = whose.definition
                                   AND pause.version = whose.version
                                   AND (pause.until IS NULL OR pause.until > tenure.now())
                                 LIMIT 1) found
            ORDER BY found.definition = '', found.version = 0, found.queue = ''
            LIMIT 1
       ) paused ON true
 ORDER BY line.queue COLLATE "C", line.definition COLLATE "C", line.version;
