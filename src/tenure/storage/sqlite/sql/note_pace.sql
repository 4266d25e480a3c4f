-- Put on record how many jobs have ended until now, and how long those of the last minute took; once a minute, by
-- the process that comes first. What is too old for any chart goes.

-- part: forgotten
DELETE FROM tenure_pace WHERE minute_at < :now - :kept;

-- part: noted
INSERT INTO tenure_pace (minute_at, ended, waits, runs)
SELECT :now / 60000000 * 60000000, json_group_object(state, n), :waits, :runs
  FROM (SELECT state, sum(n) AS n FROM tenure_tally
         WHERE state IN ('succeeded', 'failed', 'cancelled', 'buried') GROUP BY state)
 WHERE true
ON CONFLICT DO NOTHING
RETURNING true AS is_noted;
