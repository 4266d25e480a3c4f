-- Take jobs from owners whose leases have run out: back in line while attempts are left.
-- By fence, so that a job claimed anew in the meantime is left alone.

-- part: lost
INSERT INTO temp.moving (id, line, source, target, worker)
SELECT s.id, s.line, s.state,
       CASE WHEN s.state = 'cancelling'      THEN 'cancelled'
            WHEN job.on_lost = 'bury'        THEN 'buried'
            WHEN s.attempt >= s.max_attempts THEN 'failed'
            ELSE 'queued'
       END,
       expired.owner
  FROM (SELECT id, owner, jobs FROM tenure_lease WHERE expires_at <= :now ORDER BY id LIMIT :limit) expired
 CROSS JOIN json_each(expired.jobs) member
 CROSS JOIN tenure_job_state s ON s.id = member.value AND s.lease = expired.id
 CROSS JOIN tenure_job job ON job.id = s.id
 ORDER BY s.id;

-- part: swept
DELETE FROM tenure_lease
 WHERE id IN (SELECT id FROM tenure_lease WHERE expires_at <= :now ORDER BY id LIMIT :limit);

-- part: moved
UPDATE tenure_job_state AS s
   SET state       = m.target,
       lease       = NULL,
       n           = s.n + 1,
       failures    = s.failures + (m.target <> 'cancelled'),
       seq         = m.position + (SELECT n FROM tenure_sequence WHERE name = 'place'),
       queued_at   = CASE WHEN m.target = 'queued' THEN :now ELSE s.queued_at END,
       finished_at = CASE WHEN m.target <> 'queued' THEN :now END,
       updated_at  = :now
  FROM temp.moving m
 WHERE s.id = m.id;

-- part: numbered
UPDATE tenure_sequence SET n = n + (SELECT count(*) FROM temp.moving)
 WHERE name = 'place' AND EXISTS (SELECT 1 FROM temp.moving);

-- part: recorded
INSERT INTO tenure_event (job, n, type, source, target, attempt, fence, at, actor, reason, mark)
SELECT s.id, s.n, CASE WHEN s.state = 'queued' THEN 'orphaned' ELSE s.state END, m.source, s.state, s.attempt, s.fence,
       :now, :actor, :reason, :mark
  FROM temp.moving m CROSS JOIN tenure_job_state s ON s.id = m.id;

-- part: ended
INSERT INTO tenure_attempt (job, fence, number, worker, started_at, ended_at, ending, error)
SELECT s.id, s.fence, s.attempt, m.worker, s.started_at, :now, 'lost',
       '{"kind":"WorkerLost","message":"the lease ran out","fingerprint":"37becb3667f0"}'
  FROM temp.moving m CROSS JOIN tenure_job_state s ON s.id = m.id;

-- part: lined_up
INSERT INTO tenure_ready (line, rank, seq, job)
SELECT s.line, s.rank, s.seq, s.id
  FROM temp.moving m CROSS JOIN tenure_job_state s ON s.id = m.id
 WHERE s.state = 'queued';

-- part: shelved
INSERT INTO tenure_finished (state, job, at, fingerprint) SELECT state, job, :now, fingerprint FROM temp.ending;

-- part: owed
-- The worker that served it is not here to run its hooks: another one will.
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
SELECT m.id AS job, m.source, m.target, m.worker, line.definition, line.version, line.queue, s.attempt, s.max_attempts,
       s.started_at, :now AS ended_at, job.traceparent
  FROM temp.moving m
 CROSS JOIN tenure_job_state s ON s.id = m.id
 CROSS JOIN tenure_job job ON job.id = m.id
 CROSS JOIN tenure_line line ON line.id = m.line
 ORDER BY m.position;
