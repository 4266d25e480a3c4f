-- Find jobs whose message seems lost: they stand at the head of a line that live workers serve which this queue leads, and
-- were not claimed for long. What is found is on record, so that no other process finds it as well.

-- part: turn
UPDATE tenure_message_queue SET searched_at = :now
 WHERE name = :queue AND searched_at <= :now - :every
RETURNING name;

-- part: lines
SELECT DISTINCT line.id AS line
  FROM tenure_receiver receiver
 CROSS JOIN tenure_worker worker ON worker.id = receiver.worker AND worker.seen_at >= :now - :alive
 CROSS JOIN json_each(worker.lines) named
 CROSS JOIN tenure_line line ON line.queue = named.value ->> 0 AND line.definition = named.value ->> 1
                            AND line.version = named.value ->> 2 AND line.limits = '[]' AND line.share = ''
 WHERE receiver.queue = :queue
   AND NOT EXISTS (SELECT 1 FROM tenure_pause
                    WHERE queue IN ('', line.queue) AND definition IN ('', line.definition)
                      AND version IN (0, line.version) AND (until IS NULL OR until > :now))
 ORDER BY line.id;

-- part: jobs
-- Only the head of the line, so that a search costs the same however much waits: what is behind it comes there.
INSERT INTO tenure_reminder (job, at)
SELECT head.job, :now
  FROM (SELECT job FROM tenure_ready WHERE line = :line ORDER BY rank, seq LIMIT :heads) head
 CROSS JOIN tenure_job_state s ON s.id = head.job AND s.state = 'queued'
  LEFT JOIN tenure_reminder last ON last.job = head.job
 WHERE s.queued_at <= :now - :after
   AND (last.at IS NULL OR last.at <= s.queued_at OR :now - s.queued_at >= 2 * (last.at - s.queued_at))
 ORDER BY s.queued_at, head.job
 LIMIT :limit
ON CONFLICT DO UPDATE SET at = excluded.at
RETURNING job;

-- part: old
-- A job that still stands in line after an hour is found again.
DELETE FROM tenure_reminder
 WHERE job IN (SELECT job FROM tenure_reminder WHERE at <= :now - 3600000000 ORDER BY at LIMIT 2 * :limit);

-- part: gone
DELETE FROM tenure_receiver WHERE NOT EXISTS (SELECT 1 FROM tenure_worker WHERE id = worker);
