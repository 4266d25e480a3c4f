-- Free the places under one key of a limit that are taken by no job. Nothing is freed while jobs under the limit are owned
-- without a lease: a place may be theirs, and the step that takes them from their owner frees it. How many these are is
-- the total of owned jobs less those that leases name, and those that are aside.

-- part: lock
-- Places that look loose: from here on no claim takes them, and no other call frees them. It never waits, since a verb that
-- holds a place may want others that are locked here. The lock is on places alone, so nothing may wait for a job below.
WITH
meant AS MATERIALIZED (
    SELECT id FROM tenure.limited WHERE name = :name::text AND key = :key::text
),
named AS MATERIALIZED (
    SELECT unnest(line.limits) AS limited, unnest(string_to_array(s.slots, ' ')::smallint[]) AS n
      FROM (SELECT id, unnest(jobs) AS job FROM tenure.lease) held
     CROSS JOIN LATERAL (SELECT line, slots, lease FROM tenure.job_state WHERE job_state.id = held.job LIMIT 1) s
     CROSS JOIN LATERAL (SELECT limits FROM tenure.line WHERE line.id = s.line LIMIT 1) line
     WHERE s.lease = held.id AND s.slots ~ '^\d{1,4}( \d{1,4})*$'
       AND NOT EXISTS (SELECT FROM tenure.aside WHERE aside.job = held.job)
)
SELECT slot.limited, slot.n
  FROM tenure.slot JOIN meant ON meant.id = slot.limited
 WHERE slot.is_held AND NOT EXISTS (SELECT FROM named WHERE named.limited = slot.limited AND named.n = slot.n)
   FOR UPDATE OF slot SKIP LOCKED;

-- part: mend
-- A statement of its own: it sees every claim that took a place before the lock.
WITH
standing AS MATERIALIZED (
    SELECT id, limits FROM tenure.line WHERE limits @> ARRAY[:limited::integer]
),
owned AS MATERIALIZED (
    SELECT s.line, s.slots
      FROM (SELECT id, unnest(jobs) AS job FROM tenure.lease) held
     CROSS JOIN LATERAL (SELECT line, slots, lease FROM tenure.job_state WHERE job_state.id = held.job LIMIT 1) s
     WHERE s.lease = held.id AND s.line IN (SELECT id FROM standing)
       AND NOT EXISTS (SELECT FROM tenure.aside WHERE aside.job = held.job)
),
named AS MATERIALIZED (
    SELECT unnest(standing.limits) AS limited, unnest(string_to_array(owned.slots, ' ')::smallint[]) AS n
      FROM owned JOIN standing ON standing.id = owned.line
     WHERE owned.slots ~ '^\d{1,4}( \d{1,4})*$'
),
unleased AS MATERIALIZED (
    SELECT coalesce((SELECT sum(n) FROM tenure.tally
                      WHERE state IN ('running', 'cancelling') AND line IN (SELECT id FROM standing)), 0)
           - (SELECT count(*) FROM owned)
           - (SELECT count(*)
                FROM tenure.aside
               CROSS JOIN LATERAL (SELECT line, state FROM tenure.job_state WHERE job_state.id = aside.job LIMIT 1) s
               WHERE s.state IN ('running', 'cancelling') AND s.line IN (SELECT id FROM standing)) AS n
),
freed AS (
    UPDATE tenure.slot SET is_held = false
     WHERE limited = :limited::integer AND n = ANY (:places::smallint[]) AND is_held
       AND NOT EXISTS (SELECT FROM named WHERE named.limited = slot.limited AND named.n = slot.n)
       AND (SELECT n FROM unleased) <= 0
    RETURNING n
)
SELECT (SELECT count(*) FROM freed) AS freed, greatest(0, (SELECT n FROM unleased))::bigint AS unleased;
