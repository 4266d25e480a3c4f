-- Every worker that was enlisted and not dismissed, with the jobs it runs now.
SELECT worker.id, host, pid, worker.version, slots, lines, started_at, seen_at,
       drain_requested_at IS NOT NULL AS draining, is_ready, seen_at >= tenure.now() - :alive::interval AS is_alive,
       coalesce((SELECT sum((SELECT count(*) FROM tenure.job_state s
                              WHERE s.id = ANY (lease.jobs) AND s.lease = lease.id))
                   FROM tenure.lease WHERE lease.owner = worker.id), 0)::bigint AS running,
       receiver.queue, receiver.failing_at, receiver.problem
  FROM tenure.worker
  LEFT JOIN tenure.receiver ON receiver.worker = worker.id
 ORDER BY started_at, worker.id;
