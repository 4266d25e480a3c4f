-- Give jobs back before their leases run out: in line again, the attempt refunded.
-- What was killed and must not run twice is buried. An attempt that has kept a step has got on: giving it back does not
-- count. Answers with the jobs that moved.

-- part: given
INSERT INTO temp.given (job, fence, killed) VALUES (?, ?, ?);

-- part: returned
INSERT INTO temp.moving (id, line, source, fence, attempt, ending, kind, target)
SELECT s.id, s.line, s.state, s.fence, s.attempt, CASE WHEN given.killed THEN 'killed' ELSE 'handed_back' END,
       iif(got_on.job IS NULL, NULL, 'got on'),
       CASE WHEN s.state = 'cancelling'                                   THEN 'cancelled'
            WHEN given.killed AND job.on_lost = 'bury'                    THEN 'buried'
            WHEN s.hand_backs >= :most AND s.attempt >= s.max_attempts
                 AND got_on.job IS NULL                                   THEN 'failed'
            ELSE 'queued'
       END
  FROM temp.given
 CROSS JOIN tenure_lease lease ON lease.id = given.fence AND lease.owner = :worker AND lease.expires_at > :now
 CROSS JOIN tenure_job_state s ON s.id = given.job AND s.lease = given.fence
 CROSS JOIN tenure_job job ON job.id = s.id
  LEFT JOIN tenure_kept got_on ON got_on.job = s.id AND got_on.fence = given.fence
 ORDER BY s.id;

-- part: moved
UPDATE tenure_job_state AS s
   SET state       = m.target,
       lease       = NULL,
       n           = s.n + 1,
       attempt     = s.attempt - (m.target = 'queued' AND (s.hand_backs < :most OR m.kind IS NOT NULL)),
       hand_backs  = s.hand_backs + (m.target = 'queued' AND s.hand_backs < :most AND m.kind IS NULL),
       failures    = s.failures + (m.target IN ('buried', 'failed')),
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
SELECT s.id, s.n, CASE WHEN s.state = 'queued' THEN 'handed_back' ELSE s.state END, m.source, s.state, m.attempt,
       s.fence, :now, :worker, CASE WHEN m.ending = 'killed' THEN 'killed before its end' ELSE 'not started' END,
       :mark
  FROM temp.moving m CROSS JOIN tenure_job_state s ON s.id = m.id;

-- part: ended
INSERT INTO tenure_attempt (job, fence, number, worker, started_at, ended_at, ending, error)
SELECT s.id, s.fence, m.attempt, :worker, s.started_at, :now, m.ending,
       CASE s.state
            WHEN 'failed' THEN '{"kind":"HandedBack","message":"workers gave it back too often",'
                               || '"fingerprint":"319eef943725"}'
            WHEN 'buried' THEN '{"kind":"Killed","message":"killed before its end, and must not run twice",'
                               || '"fingerprint":"5fd93c1212b5"}'
       END
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
SELECT id AS job, fence, target AS state FROM temp.moving;
