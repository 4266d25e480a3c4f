-- How many jobs stand in the lines of one queue, by the running totals.
-- LIMIT keeps this a look-up of each line: planned while there are few, all would be compared with all.
SELECT coalesce(sum(standing.n), 0)::bigint AS depth
  FROM (SELECT line, sum(n) AS n FROM tenure.tally WHERE state = 'queued' GROUP BY line) standing
 CROSS JOIN LATERAL (SELECT FROM tenure.line WHERE line.id = standing.line AND line.queue = :queue::text LIMIT 1) line;
