-- How many jobs stand in the lines of one queue, by the running totals.
SELECT coalesce(sum(tally.n), 0) AS depth
  FROM tenure_line line CROSS JOIN tenure_tally tally ON tally.line = line.id
 WHERE line.queue = :queue AND tally.state = 'queued';
