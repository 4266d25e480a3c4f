-- Remove the limits of schedules that are gone, with their slots and lines, once no job is left in those.

-- part: turn
-- Nobody makes a schedule meanwhile, which might have such a limit again. A statement of its own, since the next one must
-- see all that was made before.
SELECT pg_try_advisory_xact_lock(7308325449218352744);

-- part: remove
WITH
gone AS MATERIALIZED (
    SELECT id
      FROM tenure.limited
     WHERE name = 'system.schedule' AND pg_try_advisory_xact_lock(7308325449218352744)
       AND NOT EXISTS (SELECT FROM tenure.schedule
                        WHERE schedule.namespace = split_part(key, E'\x1f', 1)
                          AND schedule.name = split_part(key, E'\x1f', 2))
),
under AS MATERIALIZED (
    SELECT line.id AS line, part.id AS limited
      FROM tenure.line
     CROSS JOIN unnest(line.limits) AS part (id)
     WHERE part.id IN (SELECT id FROM gone)
),
free AS MATERIALIZED (
    SELECT id
      FROM gone
     WHERE NOT EXISTS (SELECT FROM under
                        WHERE under.limited = gone.id   -- one look-up a line: the planner would rather read all jobs
                          AND (SELECT job.id FROM tenure.job WHERE job.line = under.line ORDER BY line, id LIMIT 1) IS NOT NULL)
     LIMIT 100
),
lines AS (
    DELETE FROM tenure.line WHERE id IN (SELECT line FROM under WHERE limited IN (SELECT id FROM free))
),
slots AS (
    DELETE FROM tenure.slot WHERE limited IN (SELECT id FROM free)
)
DELETE FROM tenure.limited WHERE id IN (SELECT id FROM free) RETURNING id;
