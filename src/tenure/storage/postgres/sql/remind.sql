-- Find jobs whose message seems lost: they stand at the head of a line that live workers serve which this queue leads, and
-- were not claimed for long. What is found is on record, so that no other process finds it as well.

-- part: turn
-- The row is locked until the end: of several processes one searches, and the others see that it has.
UPDATE tenure.message_queue SET searched_at = tenure.now()
 WHERE name = :queue::text AND searched_at <= tenure.now() - :every::interval
RETURNING name;

-- part: jobs
-- Only heads of lines, so that a search costs the same however much waits: what is behind them comes there. LIMIT keeps the
-- look-ups by id.
WITH
served AS MATERIALIZED (
    SELECT DISTINCT line.id
      FROM tenure.receiver
      JOIN tenure.worker ON worker.id = receiver.worker AND worker.seen_at >= tenure.now() - :alive::interval
     CROSS JOIN json_array_elements(worker.lines::json) AS named
     CROSS JOIN LATERAL (SELECT id, queue, definition, version FROM tenure.line
                          WHERE line.queue = named ->> 0 AND line.definition = named ->> 1
                            AND line.version = (named ->> 2)::integer AND line.limits = '{}' AND line.share = ''
                          LIMIT 1) line
     WHERE receiver.queue = :queue::text
       AND NOT EXISTS (SELECT FROM tenure.pause
                        WHERE pause.queue IN ('', line.queue) AND pause.definition IN ('', line.definition)
                          AND pause.version IN (0, line.version)
                          AND (pause.until IS NULL OR pause.until > tenure.now()))
),
heads AS MATERIALIZED (
    SELECT next.job
      FROM served
     CROSS JOIN LATERAL (SELECT job FROM tenure.ready WHERE ready.line = served.id
                          ORDER BY ready.line, ready.rank, ready.seq LIMIT :heads::integer) next
),
late AS MATERIALIZED (
    SELECT heads.job
      FROM heads
     CROSS JOIN LATERAL (SELECT queued_at FROM tenure.job_state s
                          WHERE s.id = heads.job AND s.state = 'queued' LIMIT 1) s
      LEFT JOIN LATERAL (SELECT at FROM tenure.reminder WHERE reminder.job = heads.job LIMIT 1) last ON true
     WHERE s.queued_at <= tenure.now() - :after::interval
       AND (last.at IS NULL OR last.at <= s.queued_at
            OR tenure.now() - s.queued_at >= 2 * (last.at - s.queued_at))
     ORDER BY s.queued_at, heads.job
     LIMIT :limit::integer
)
INSERT INTO tenure.reminder (job, at)
SELECT job, tenure.now() FROM late
ON CONFLICT (job) DO UPDATE SET at = excluded.at
RETURNING job;

-- part: tidy
-- A job that still stands in line after an hour is found again.
WITH
old AS (
    DELETE FROM tenure.reminder
     WHERE ctid = ANY (ARRAY(SELECT ctid FROM tenure.reminder
                              WHERE at <= tenure.now() - interval '1 hour' ORDER BY at LIMIT 2 * :limit::integer))
)
DELETE FROM tenure.receiver WHERE NOT EXISTS (SELECT FROM tenure.worker WHERE worker.id = receiver.worker);
