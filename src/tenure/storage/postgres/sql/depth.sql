-- How many jobs stand in the lines of one queue, by the running totals.
SELECT coalesce(sum(tally.n), 0)::bigint AS depth
  FROM tenure.tally JOIN tenure.line ON line.id = tally.line
 WHERE line.queue = :queue::text AND tally.state = 'queued';
