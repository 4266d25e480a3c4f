-- All that may keep one job from running, as one moment shows it. Every part is bounded: pauses that can hold one line,
-- its limits, while it waits, with a few of the jobs under them, its place counted up to `most`, workers and leases.
-- A job under a limit is found through the leases; one that its lease still names but that was settled does not count.
-- Times inside JSON are texts. CROSS JOIN keeps the order: from what is few to look-ups by the index. The plus keeps
-- timers in the order of their time, so that one is read and not all.
WITH
asked AS MATERIALIZED (
    SELECT job.id, job.line, job.namespace, job.priority, job.tags, job.key, job.parent, job.replay_of, job.max_attempts,
           job.created_at, job.run_at, job.grace_ms, line.queue, line.definition, line.version,
           CASE WHEN s.finished_at IS NULL AND s.lease IS NULL THEN line.limits ELSE '[]' END AS limits,
           s.state, s.attempt, s.rank, s.seq, s.lease, s.fence, s.failures, s.due_at, s.queued_at, s.started_at, s.finished_at,
           s.updated_at, s.cancel_requested_at
      FROM tenure_job job
      JOIN tenure_line line ON line.id = job.line
      JOIN tenure_job_state s ON s.id = job.id
     WHERE job.id = :job
),
live AS MATERIALIZED (
    SELECT id AS worker, slots, lines, is_ready, drain_requested_at IS NOT NULL AS is_draining
      FROM tenure_worker
     WHERE seen_at >= :now - :alive
),
served AS MATERIALIZED (
    SELECT DISTINCT live.worker, named.value ->> 0 AS queue, named.value ->> 2 AS version
      FROM asked CROSS JOIN live CROSS JOIN json_each(live.lines) named
     WHERE named.value ->> 1 = asked.definition
),
serving AS MATERIALIZED (
    SELECT live.is_draining, live.is_ready AND NOT live.is_draining AS is_ready, live.slots,
           max(live.slots - (SELECT count(*)
                               FROM tenure_lease lease
                              CROSS JOIN json_each(lease.jobs) member
                              CROSS JOIN tenure_job_state s ON s.id = member.value AND s.lease = lease.id
                              WHERE lease.owner = live.worker), 0) AS free
      FROM asked
     CROSS JOIN served ON served.queue = asked.queue AND served.version = asked.version
     CROSS JOIN live ON live.worker = served.worker
),
under AS MATERIALIZED (
    SELECT limited.id AS limited, limited.name, limited.key, sized.size, limited.held, limited.opens_at
      FROM asked
     CROSS JOIN json_each(asked.limits) part
     CROSS JOIN tenure_limited limited ON limited.id = part.value
     CROSS JOIN tenure_limit_size sized ON sized.name = limited.name
)
SELECT :now AS now_at, asked.id, asked.namespace, asked.definition, asked.version, asked.queue, asked.priority,
       asked.tags, asked.key, asked.parent, asked.replay_of, asked.state, asked.attempt, asked.max_attempts,
       asked.created_at, asked.run_at, asked.due_at, asked.queued_at, asked.started_at, asked.finished_at,
       asked.updated_at, asked.failures, asked.grace_ms, asked.cancel_requested_at,
       lease.owner AS worker, lease.expires_at AS lease_expires_at, aside.at AS aside_at, aside.verb, aside.code,
       aside.text,
       (SELECT error FROM tenure_attempt WHERE job = asked.id ORDER BY fence DESC LIMIT 1) AS error,
       CASE WHEN asked.state = 'queued'
            THEN EXISTS (SELECT 1 FROM tenure_ready ready
                          WHERE ready.line = asked.line AND ready.rank = asked.rank AND ready.seq = asked.seq
                            AND ready.job = asked.id)
            WHEN asked.state IN ('scheduled', 'retrying', 'suspended')
            THEN EXISTS (SELECT 1 FROM tenure_timer timer
                          WHERE timer.due_at = coalesce(asked.due_at, 9223372036854775807) AND timer.job = asked.id
                            AND (asked.due_at IS NOT NULL OR timer.kind = 'wait'))
            WHEN asked.state IN ('running', 'cancelling') THEN lease.id IS NOT NULL
            ELSE 1
       END AS is_placed,
       (SELECT json_group_array(json(pause))
          FROM (SELECT json_object(
                           'queue', pause.queue, 'definition', pause.definition, 'version', pause.version,
                           'at', strftime('%Y-%m-%dT%H:%M:%S', pause.at / 1000000, 'unixepoch')
                                 || printf('.%06dZ', pause.at % 1000000),
                           'until', strftime('%Y-%m-%dT%H:%M:%S', pause.until / 1000000, 'unixepoch')
                                    || printf('.%06dZ', pause.until % 1000000),
                           'by', pause.by, 'reason', pause.reason) AS pause
                  FROM tenure_pause pause
                 WHERE pause.queue IN ('', asked.queue) AND pause.definition IN ('', asked.definition)
                   AND pause.version IN (0, asked.version) AND (pause.until IS NULL OR pause.until > :now)
                 ORDER BY pause.definition = '', pause.version = 0, pause.queue = '')) AS pauses,
       (SELECT json_group_array(json_object(
                   'name', name, 'key', key, 'size', size, 'held', held,
                   'opens_at', strftime('%Y-%m-%dT%H:%M:%S', opens_at / 1000000, 'unixepoch')
                               || printf('.%06dZ', opens_at % 1000000),
                   'holders',
                   json((SELECT json_group_array(json(holder))
                      FROM (SELECT json_object(
                                       'job', s.id, 'namespace', job.namespace, 'definition', line.definition,
                                       'version', line.version, 'worker', lease.owner,
                                       'since', strftime('%Y-%m-%dT%H:%M:%S', s.started_at / 1000000, 'unixepoch')
                                                || printf('.%06dZ', s.started_at % 1000000)) AS holder
                              FROM (SELECT 1 WHERE under.held >= under.size)
                             CROSS JOIN tenure_lease lease
                             CROSS JOIN json_each(lease.jobs) member
                             CROSS JOIN tenure_job_state s ON s.id = member.value AND s.lease = lease.id
                             CROSS JOIN tenure_line line ON line.id = s.line
                             CROSS JOIN tenure_job job ON job.id = s.id
                             WHERE under.limited IN (SELECT value FROM json_each(line.limits))
                               AND NOT EXISTS (SELECT 1 FROM tenure_aside aside WHERE aside.job = s.id)
                             ORDER BY lease.id, s.id
                             LIMIT :most_holders)))))
          FROM (SELECT * FROM under ORDER BY name, key) under) AS limits,
       -- In two parts: of a comparison of both at once, SQLite's look-up takes the first alone, and reads the whole rank.
       (SELECT count(*) FROM (SELECT 1 FROM tenure_ready ready
                               WHERE asked.state = 'queued' AND ready.line = asked.line AND ready.rank < asked.rank
                               UNION ALL
                              SELECT 1 FROM tenure_ready ready
                               WHERE asked.state = 'queued' AND ready.line = asked.line AND ready.rank = asked.rank
                                 AND ready.seq < asked.seq
                               LIMIT :most)) AS ahead,
       (SELECT count(*) FROM live) AS in_all,
       (SELECT count(*) FROM serving) AS serving,
       (SELECT count(*) FROM serving WHERE is_draining) AS draining,
       (SELECT count(*) FROM serving WHERE is_ready) AS ready,
       (SELECT coalesce(sum(slots), 0) FROM serving WHERE is_ready) AS slots,
       (SELECT coalesce(sum(free), 0) FROM serving WHERE is_ready) AS free,
       (SELECT json_group_array(queue)
          FROM (SELECT DISTINCT queue FROM served
                 WHERE queue <> asked.queue AND version = asked.version
                 ORDER BY 1 LIMIT :most_named)) AS queues,
       (SELECT json_group_array(version)
          FROM (SELECT DISTINCT version FROM served
                 WHERE queue = asked.queue AND version <> asked.version
                 ORDER BY 1 DESC LIMIT :most_named)) AS versions,
       (SELECT max(minute_at) FROM tenure_pace) AS upkeep_at,
       (SELECT due_at FROM tenure_timer INDEXED BY tenure_timer_known
         WHERE due_at <= :now AND kind IN ('hold', 'scheduled', 'retry', 'resume', 'wait', 'give_up')
         ORDER BY due_at LIMIT 1) AS overdue_at,
       wait.kind AS wait_kind, wait.step AS wait_step, wait.signal AS wait_signal, wait.at AS wait_at,
       (SELECT json_group_array(json_array(name, strftime('%Y-%m-%dT%H:%M:%S', at / 1000000, 'unixepoch')
                                                 || printf('.%06dZ', at % 1000000)))
          FROM (SELECT name, at FROM tenure_step step
                 WHERE step.job = asked.id AND status = 'intended' AND step.fence IS NOT asked.lease
                 ORDER BY at, name LIMIT :most_named)) AS doubts
  FROM asked
  LEFT JOIN tenure_lease lease ON lease.id = asked.lease
  LEFT JOIN tenure_aside aside ON aside.job = asked.id
  LEFT JOIN tenure_wait wait ON wait.job = asked.id AND wait.fence = asked.fence AND asked.state = 'suspended';
