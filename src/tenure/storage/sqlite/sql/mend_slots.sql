-- Free the places under one key of a limit that are taken by no job. Nothing is freed while jobs under the limit are owned
-- without a lease: a place may be theirs, and the step that takes them from their owner frees it. How many these are is
-- the total of owned jobs less those that leases name, and those that are aside.

-- part: lock
-- There is one writer at a time: no claim takes a place from here on.
SELECT id AS limited, held FROM tenure_limited WHERE name = :name AND key = :key;

-- part: used
WITH
standing AS MATERIALIZED (
    SELECT line.id FROM tenure_line line
     WHERE EXISTS (SELECT 1 FROM json_each(line.limits) named WHERE named.value = :limited)
)
SELECT (SELECT count(*)
          FROM tenure_lease lease CROSS JOIN json_each(lease.jobs) named
         CROSS JOIN tenure_job_state s ON s.id = named.value AND s.lease = lease.id
         WHERE s.line IN (SELECT id FROM standing)
           AND NOT EXISTS (SELECT 1 FROM tenure_aside aside WHERE aside.job = s.id)) AS owned,
       (SELECT count(*)
          FROM tenure_aside aside CROSS JOIN tenure_job_state s ON s.id = aside.job
         WHERE s.state IN ('running', 'cancelling') AND s.line IN (SELECT id FROM standing)) AS is_aside,
       (SELECT coalesce(sum(n), 0) FROM tenure_tally
         WHERE state IN ('running', 'cancelling') AND line IN (SELECT id FROM standing)) AS counted;

-- part: mend
UPDATE tenure_limited SET held = :owned WHERE id = :limited AND held > :owned
RETURNING held;
