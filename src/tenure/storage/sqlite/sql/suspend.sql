-- Give slots back until what jobs wait for has come, as long as their leases hold; the attempts are refunded. `rouse` follows
-- in the same transaction, and resumes those for which it is there already.

-- part: cleared
DELETE FROM temp.suspending;

-- part: given
INSERT INTO temp.suspending (job, fence, kind, step, signal, timeout, cpu_ms, peak_bytes, exit_code, exit_signal)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- part: asked
-- A wait that was kept before ends when it said first. One whose step is finished is over.
UPDATE temp.suspending
   SET was = found.status, until_at = found.until_at
  FROM (SELECT asked.job, known.status,
               CASE WHEN asked.kind = 'answer' OR known.status IS NULL THEN :now + asked.timeout
                    WHEN known.status = 'waiting'                      THEN known.until_at
                    ELSE :now
               END AS until_at
          FROM temp.suspending asked
          LEFT JOIN tenure_step known ON known.job = asked.job AND known.name = asked.step) found
 WHERE found.job = suspending.job;

-- part: decided
INSERT INTO temp.moving (
    id, line, source, fence, n, attempt, started_at, due_at, cpu_ms, peak_bytes, exit_code, signal, target)
SELECT s.id, s.line, s.state, s.fence, s.n, s.attempt, s.started_at, asked.until_at, asked.cpu_ms, asked.peak_bytes,
       asked.exit_code, asked.exit_signal,
       CASE WHEN s.state = 'cancelling'                   THEN 'cancelled'
            WHEN s.suspensions >= :most_suspensions       THEN 'failed'
            ELSE 'suspended'
       END
  FROM temp.suspending asked
 CROSS JOIN tenure_lease lease ON lease.id = asked.fence AND lease.owner = :worker AND lease.expires_at > :now
 CROSS JOIN tenure_job_state s ON s.id = asked.job AND s.lease = asked.fence
 ORDER BY s.id;

-- part: moved
UPDATE tenure_job_state AS s
   SET state       = m.target,
       lease       = NULL,
       n           = s.n + 1,
       attempt     = s.attempt - (m.target = 'suspended'),
       suspensions = s.suspensions + (m.target = 'suspended'),
       hand_backs  = iif(m.target = 'suspended', 0, s.hand_backs),
       failures    = s.failures + (m.target = 'failed'),
       due_at      = iif(m.target = 'suspended', m.due_at, NULL),
       finished_at = iif(m.target <> 'suspended', :now, NULL),
       updated_at  = :now
  FROM temp.moving m
 WHERE s.id = m.id;

-- part: recorded
INSERT INTO tenure_event (job, n, type, source, target, attempt, fence, at, actor, reason, mark)
SELECT m.id, m.n + 1, m.target, m.source, m.target, m.attempt, m.fence, :now, :worker,
       CASE WHEN m.target <> 'suspended' THEN NULL
            WHEN suspending.kind = 'signal' THEN 'waits for the signal ' || suspending.signal
            WHEN suspending.kind = 'answer' THEN 'waits for an answer about ' || step
       END, :mark
  FROM temp.moving m CROSS JOIN temp.suspending ON suspending.job = m.id;

-- part: ended
INSERT INTO tenure_attempt (
    job, fence, number, worker, started_at, ended_at, ending, error, cpu_ms, peak_bytes, exit_code, signal)
SELECT id, fence, attempt, :worker, started_at, :now, 'suspended',
       iif(target = 'failed', '{"kind":"SuspendedTooOften","message":"it was suspended too often",'
                              || '"fingerprint":"95401287e6f7"}', NULL),
       cpu_ms, peak_bytes, exit_code, signal
  FROM temp.moving;

-- part: timed
INSERT INTO tenure_timer (due_at, job, kind)
SELECT coalesce(due_at, 9223372036854775807), id, iif(due_at IS NULL, 'wait', 'resume')
  FROM temp.moving WHERE target = 'suspended';

-- part: waiting
INSERT INTO tenure_wait (job, fence, at, kind, step, signal)
SELECT m.id, m.fence, :now, suspending.kind, step, suspending.signal
  FROM temp.moving m CROSS JOIN temp.suspending ON suspending.job = m.id
 WHERE m.target = 'suspended'
ON CONFLICT DO UPDATE SET fence = excluded.fence, at = excluded.at, kind = excluded.kind, step = excluded.step,
                          signal = excluded.signal;

-- part: kept
-- An effect that is asked about stays as it is.
INSERT INTO tenure_step (job, name, kind, status, fence, at, until_at)
SELECT m.id, step, iif(suspending.kind = 'time', 'sleep', 'wait'), 'waiting', m.fence, :now, until_at
  FROM temp.moving m CROSS JOIN temp.suspending ON suspending.job = m.id
 WHERE m.target = 'suspended' AND suspending.kind <> 'answer' AND was IS NULL;

-- part: numbered
INSERT INTO tenure_kept (job, fence, bytes, steps)
SELECT m.id, m.fence, 0, 1
  FROM temp.moving m CROSS JOIN temp.suspending ON suspending.job = m.id
 WHERE m.target = 'suspended' AND suspending.kind <> 'answer' AND was IS NULL
ON CONFLICT DO UPDATE SET fence = excluded.fence, steps = steps + 1;

-- part: shelved
INSERT INTO tenure_finished (state, job, at, fingerprint) SELECT state, job, :now, fingerprint FROM temp.ending;

-- part: owed
-- Whoever takes it out runs its hooks, as for all that ended without its owner's report.
INSERT INTO tenure_aftermath (queue, definition, version, job)
SELECT queue, definition, line.version, m.id
  FROM temp.moving m
 CROSS JOIN tenure_line line ON line.id = m.line
 CROSS JOIN tenure_definition known ON known.key = definition AND known.version = line.version
 WHERE m.target IN ('failed', 'cancelled', 'buried') AND known.spec ->> 'hooks' <> '[]';

-- part: freed
UPDATE tenure_limited SET held = held - freed.n FROM temp.freed WHERE id = freed.limited;

-- part: tallied
INSERT INTO tenure_tally (line, state, n) SELECT line, state, n FROM temp.change WHERE true
ON CONFLICT DO UPDATE SET n = n + excluded.n;

-- part: answer
SELECT id AS job, fence, target AS state FROM temp.moving;
