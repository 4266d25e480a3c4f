-- All that may keep one job from running, as one moment shows it. Every part is bounded: pauses that can hold one line,
-- its limits, while it waits, with a few of the jobs under them, its place counted up to `most`, workers and leases.
-- A job under a limit is found through the leases; one that its lease still names but that was settled does not count.
-- LIMIT keeps each look a look-up by the index.
WITH
asked AS MATERIALIZED (
    SELECT job.id, job.line, job.namespace, job.priority, job.tags, job.key, job.parent, job.replay_of, job.max_attempts,
           job.created_at, job.run_at, job.grace_ms, line.queue, line.definition, line.version,
           CASE WHEN s.finished_at IS NULL AND s.lease IS NULL THEN line.limits ELSE '{}' END AS limits,
           s.state, s.attempt, s.rank, s.seq, s.lease, s.fence, s.failures, s.due_at, s.queued_at, s.started_at, s.finished_at, s.updated_at, s.cancel_requested_at
      FROM tenure.job
      JOIN tenure.line ON line.id = job.line
      JOIN tenure.job_state s ON s.id = job.id
     WHERE job.id = :job::uuid
),
live AS MATERIALIZED (
    SELECT id, slots, lines, is_ready, drain_requested_at IS NOT NULL AS is_draining
      FROM tenure.worker
     WHERE seen_at >= tenure.now() - :alive::interval
),
served AS MATERIALIZED (
    SELECT DISTINCT live.id, named ->> 0 AS queue, (named ->> 2)::integer AS version
      FROM asked CROSS JOIN live CROSS JOIN json_array_elements(live.lines::json) AS named
     WHERE named ->> 1 = asked.definition
),
serving AS MATERIALIZED (
    SELECT live.is_draining, live.is_ready AND NOT live.is_draining AS is_ready, live.slots,
           greatest(live.slots - (SELECT count(*)
                                    FROM tenure.lease
                                   CROSS JOIN unnest(lease.jobs) AS member (job)
                                   CROSS JOIN LATERAL (SELECT s.lease FROM tenure.job_state s
                                                        WHERE s.id = member.job LIMIT 1) s
                                   WHERE lease.owner = live.id AND s.lease = lease.id), 0) AS free
      FROM asked JOIN served USING (queue, version) JOIN live ON live.id = served.id
)
SELECT tenure.now() AS now_at, asked.id, asked.namespace, asked.definition, asked.version, asked.queue, asked.priority,
       asked.tags, asked.key, asked.parent, asked.replay_of, asked.state, asked.attempt, asked.max_attempts,
       asked.created_at, asked.run_at, asked.due_at, asked.queued_at, asked.started_at, asked.finished_at,
       asked.updated_at, asked.failures, asked.grace_ms, asked.cancel_requested_at,
       lease.owner AS worker, lease.expires_at AS lease_expires_at, aside.at AS aside_at, aside.verb, aside.code,
       aside.text,
       (SELECT error FROM tenure.attempt WHERE attempt.job = asked.id ORDER BY fence DESC LIMIT 1) AS error,
       CASE WHEN asked.state = 'queued'
            THEN EXISTS (SELECT FROM tenure.ready
                          WHERE ready.line = asked.line AND ready.rank = asked.rank AND ready.seq = asked.seq
                            AND ready.job = asked.id)
            WHEN asked.state IN ('scheduled', 'retrying', 'suspended')
            THEN EXISTS (SELECT FROM tenure.timer
                          WHERE timer.due_at = coalesce(asked.due_at, 'infinity') AND timer.job = asked.id
                            AND (asked.due_at IS NOT NULL OR timer.kind = 'wait'))
            WHEN asked.state IN ('running', 'cancelling') THEN lease.id IS NOT NULL
            ELSE true
       END AS is_placed,
       (SELECT json_agg(json_build_object('queue', queue, 'definition', definition, 'version', version, 'at', at,
                                          'until', until, 'by', by, 'reason', reason)
                        ORDER BY definition = '', version = 0, queue = '')::text
          FROM tenure.pause
         WHERE pause.queue IN ('', asked.queue) AND pause.definition IN ('', asked.definition)
           AND pause.version IN (0, asked.version) AND (until IS NULL OR until > tenure.now())) AS pauses,
       (SELECT json_agg(json_build_object('name', name, 'key', key, 'size', size, 'held', held, 'opens_at', opens_at,
                                          'holders', holders) ORDER BY name, key)::text
          FROM tenure.limited
         CROSS JOIN LATERAL (SELECT size FROM tenure.limit_size WHERE limit_size.name = limited.name LIMIT 1) sized
         CROSS JOIN LATERAL (SELECT count(*) AS held FROM tenure.slot
                              WHERE slot.limited = limited.id AND slot.is_held) used
         CROSS JOIN LATERAL (
                  SELECT json_agg(to_json(found)) AS holders
                    FROM (SELECT s.id AS job, holder.namespace, of.definition, of.version, lease.owner AS worker,
                                 s.started_at AS since
                            FROM tenure.lease
                           CROSS JOIN unnest(lease.jobs) AS member (job)
                           CROSS JOIN LATERAL (SELECT id, line, lease, started_at FROM tenure.job_state
                                                WHERE job_state.id = member.job LIMIT 1) s
                           CROSS JOIN LATERAL (SELECT definition, version, limits FROM tenure.line
                                                WHERE line.id = s.line LIMIT 1) of
                           CROSS JOIN LATERAL (SELECT namespace FROM tenure.job WHERE job.id = s.id LIMIT 1) holder
                           WHERE used.held >= sized.size AND s.lease = lease.id AND limited.id = ANY (of.limits)
                             AND NOT EXISTS (SELECT FROM tenure.aside WHERE aside.job = s.id)
                           ORDER BY lease.id, s.id
                           LIMIT :most_holders::integer) found) under
         WHERE limited.id = ANY (asked.limits)) AS limits,
       (SELECT count(*) FROM (SELECT FROM tenure.ready
                               WHERE asked.state = 'queued' AND ready.line = asked.line
                                 AND (ready.rank, ready.seq) < (asked.rank, asked.seq)
                               ORDER BY ready.line, ready.rank, ready.seq
                               LIMIT :most::integer) before) AS ahead,
       (SELECT count(*) FROM live) AS in_all,
       (SELECT count(*) FROM serving) AS serving,
       (SELECT count(*) FROM serving WHERE is_draining) AS draining,
       (SELECT count(*) FROM serving WHERE is_ready) AS ready,
       (SELECT coalesce(sum(slots), 0)::bigint FROM serving WHERE is_ready) AS slots,
       (SELECT coalesce(sum(free), 0)::bigint FROM serving WHERE is_ready) AS free,
       (SELECT json_agg(queue)::text
          FROM (SELECT DISTINCT queue COLLATE "C" AS queue FROM served
                 WHERE queue <> asked.queue AND version = asked.version
                 ORDER BY 1 LIMIT :most_named::integer) elsewhere) AS queues,
       (SELECT json_agg(version)::text
          FROM (SELECT DISTINCT version FROM served
                 WHERE queue = asked.queue AND version <> asked.version
                 ORDER BY 1 DESC LIMIT :most_named::integer) others) AS versions,
       (SELECT minute_at FROM tenure.pace ORDER BY minute_at DESC LIMIT 1) AS upkeep_at,
       (SELECT due_at FROM tenure.timer
         WHERE due_at <= tenure.now() AND kind IN ('hold', 'scheduled', 'retry', 'resume', 'wait', 'give_up')
         ORDER BY due_at LIMIT 1) AS overdue_at,
       wait.kind AS wait_kind, wait.step AS wait_step, wait.signal AS wait_signal, wait.at AS wait_at,
       (SELECT json_agg(json_build_array(name, at) ORDER BY at, name)::text
          FROM (SELECT name, at FROM tenure.step
                 WHERE step.job = asked.id AND status = 'intended' AND step.fence IS DISTINCT FROM asked.lease
                 ORDER BY at, name LIMIT :most_named::integer) doubtful) AS doubts
  FROM asked
  LEFT JOIN tenure.lease ON lease.id = asked.lease
  LEFT JOIN tenure.aside ON aside.job = asked.id
  LEFT JOIN tenure.wait ON wait.job = asked.id AND wait.fence = asked.fence AND asked.state = 'suspended';
