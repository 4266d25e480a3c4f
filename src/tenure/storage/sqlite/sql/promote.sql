-- Take the steps that the clock has made due: to `queued`, or to `failed` where a worker gave up.
-- A timer that its job no longer waits for leads nowhere and is dropped, and so is one whose job is gone: it would stay
-- due for ever. Timers of other kinds than these are a newer version's, and are left alone. The others have an index
-- by when they are due.

-- part: due
INSERT INTO temp.moving (id, line, source, target, due_at, kind)
SELECT timer.job, s.line, s.state,
       CASE WHEN s.due_at = timer.due_at AND s.state IN ('scheduled', 'retrying', 'suspended')
            THEN iif(timer.kind = 'give_up', 'failed', 'queued')
       END,
       timer.due_at, timer.kind
  FROM tenure_timer timer INDEXED BY tenure_timer_known
  LEFT JOIN tenure_job_state s ON s.id = timer.job
 WHERE timer.due_at <= :now AND timer.kind IN ('hold', 'scheduled', 'retry', 'resume', 'wait', 'give_up')
 ORDER BY timer.due_at, timer.job
 LIMIT :limit;

-- part: dropped
DELETE FROM tenure_timer WHERE (due_at, job, kind) IN (SELECT due_at, id, kind FROM temp.moving);

-- part: moved
UPDATE tenure_job_state AS s
   SET state       = m.target,
       n           = s.n + 1,
       seq         = m.position + (SELECT n FROM tenure_sequence WHERE name = 'place'),
       due_at      = NULL,
       queued_at   = CASE m.target WHEN 'queued' THEN :now ELSE s.queued_at END,
       finished_at = CASE m.target WHEN 'failed' THEN :now END,
       updated_at  = :now
  FROM temp.moving m
 WHERE s.id = m.id AND m.target IS NOT NULL;

-- part: numbered
UPDATE tenure_sequence SET n = n + (SELECT count(*) FROM temp.moving)
 WHERE name = 'place' AND EXISTS (SELECT 1 FROM temp.moving);

-- part: recorded
INSERT INTO tenure_event (job, n, type, source, target, attempt, fence, at, actor, reason, mark)
SELECT s.id, s.n, CASE WHEN m.source = 'suspended' THEN 'resumed' ELSE s.state END, m.source, s.state, s.attempt,
       s.fence, :now, 'clock', CASE WHEN s.state = 'failed' THEN 'given up' END, :mark
  FROM temp.moving m CROSS JOIN tenure_job_state s ON s.id = m.id
 WHERE m.target IS NOT NULL;

-- part: lined_up
INSERT INTO tenure_ready (line, rank, seq, job)
SELECT s.line, s.rank, s.seq, s.id
  FROM temp.moving m CROSS JOIN tenure_job_state s ON s.id = m.id
 WHERE m.target = 'queued';

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

-- part: tallied
INSERT INTO tenure_tally (line, state, n) SELECT line, state, n FROM temp.change WHERE true
ON CONFLICT DO UPDATE SET n = n + excluded.n;

-- part: answer
SELECT id AS job, source, target FROM temp.moving WHERE target IS NOT NULL ORDER BY position;
