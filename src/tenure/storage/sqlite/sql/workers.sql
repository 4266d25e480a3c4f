-- Every worker that was enlisted and not dismissed, with the jobs it runs now.
WITH running (worker, jobs) AS (
    SELECT lease.owner, count(*)
      FROM tenure_lease lease
     CROSS JOIN json_each(lease.jobs) member
     CROSS JOIN tenure_job_state s ON s.id = member.value AND s.lease = lease.id
     GROUP BY lease.owner
)
SELECT worker.id AS worker, host, pid, version, slots, lines, started_at, seen_at,
       drain_requested_at IS NOT NULL AS draining, is_ready, seen_at >= :now - :alive AS is_alive,
       coalesce(running.jobs, 0) AS running, receiver.queue, receiver.failing_at, receiver.problem
  FROM tenure_worker worker
  LEFT JOIN running ON running.worker = worker.id
  LEFT JOIN tenure_receiver receiver ON receiver.worker = worker.id
 ORDER BY started_at, worker.id;
