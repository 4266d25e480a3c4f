-- Put on record how many jobs have ended until now, and how long those of the last minute took; once a minute, by
-- the process that comes first. What is too old for any chart goes; the first minute of an hour has the figures of the
-- hour before, and stays longer.

-- part: forgotten
DELETE FROM tenure_pace WHERE minute_at < :now - CASE WHEN hour IS NULL THEN :kept ELSE :hours_kept END;

-- part: noted
INSERT INTO tenure_pace (minute_at, ended, waits, runs, detail, hour)
SELECT :now / 60000000 * 60000000, json_group_object(state, n), :waits, :runs, :detail, :hour
  FROM (SELECT state, sum(n) AS n FROM tenure_tally
         WHERE state IN ('succeeded', 'failed', 'cancelled', 'buried') GROUP BY state)
 WHERE true
ON CONFLICT DO NOTHING
RETURNING true AS is_noted;
