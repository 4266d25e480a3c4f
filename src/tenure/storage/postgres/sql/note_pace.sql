-- Put on record how many jobs have ended until now, and how long those of the last minute took; once a minute, by
-- the process that comes first. What is too old for any chart goes; the first minute of an hour has the figures of the
-- hour before, and stays longer.
WITH
forgotten AS (
    DELETE FROM tenure.pace WHERE minute_at < tenure.now() - CASE WHEN hour IS NULL THEN :kept::interval ELSE :hours_kept::interval END
)
INSERT INTO tenure.pace (minute_at, ended, waits, runs, detail, hour)
SELECT date_trunc('minute', tenure.now()), coalesce(json_object_agg(state, n), '{}')::text, :waits::text, :runs::text,
       :detail::text, :hour::text
  FROM (SELECT state, sum(n) AS n FROM tenure.tally
         WHERE state IN ('succeeded', 'failed', 'cancelled', 'buried') GROUP BY state) total
ON CONFLICT DO NOTHING
RETURNING true AS is_noted;
