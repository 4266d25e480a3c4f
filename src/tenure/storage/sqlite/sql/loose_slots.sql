-- Places under limits that are counted as taken, though no job with a lease takes them: nothing will free them, and the
-- limit is smaller by so many. A job that is aside has given its places back. One statement sees one moment. CROSS
-- JOIN keeps this order: from the leases, which are few, to their jobs.
WITH
owned AS MATERIALIZED (
    SELECT s.line
      FROM tenure_lease lease CROSS JOIN json_each(lease.jobs) named
     CROSS JOIN tenure_job_state s ON s.id = named.value AND s.lease = lease.id
     WHERE NOT EXISTS (SELECT 1 FROM tenure_aside aside WHERE aside.job = s.id)
),
used AS MATERIALIZED (
    SELECT named.value AS limited, count(*) AS n
      FROM owned CROSS JOIN tenure_line line ON line.id = owned.line CROSS JOIN json_each(line.limits) named
     GROUP BY named.value
)
SELECT limited.name, limited.key, limited.id AS number, limited.held - coalesce(used.n, 0) AS n
  FROM tenure_limited limited LEFT JOIN used ON used.limited = limited.id
 WHERE limited.held > coalesce(used.n, 0)
 ORDER BY limited.id
 LIMIT :limit;
