-- What is to come, by the first entry of each index: for a worker that has nothing to do. Jobs that cannot be claimed
-- now, since their line is paused or a limit used up, are not waited for here: whoever changes that leaves a hint.
WITH RECURSIVE
served (queue, definition, version) AS MATERIALIZED (
    SELECT DISTINCT value ->> 0, value ->> 1, value ->> 2
      FROM json_each(:lines) wanted
     WHERE NOT EXISTS (SELECT 1 FROM tenure_pause
                        WHERE queue = wanted.value ->> 0
                          AND (definition, version) IN (VALUES ('', 0), (wanted.value ->> 1, wanted.value ->> 2))
                          AND (until IS NULL OR until > :now))
),
filled (line) AS (
    SELECT min(line) FROM tenure_ready
     UNION ALL
    SELECT (SELECT min(line) FROM tenure_ready WHERE tenure_ready.line > filled.line) FROM filled WHERE line IS NOT NULL
)
SELECT :now AS now_at,
       EXISTS (SELECT 1
                 FROM filled
                CROSS JOIN tenure_line line ON line.id = filled.line
                 JOIN served USING (queue, definition, version)
                WHERE limits = '[]' OR (SELECT min(size - held)
                                          FROM json_each(limits) part
                                          JOIN tenure_limited limited ON limited.id = part.value
                                          JOIN tenure_limit_size USING (name)) > 0) AS waiting,
       (SELECT min(due_at) FROM tenure_timer WHERE due_at < 9223372036854775807) AS next_timer_at,
       (SELECT min(expires_at) FROM tenure_lease) AS next_expiry_at;
