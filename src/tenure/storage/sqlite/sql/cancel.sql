-- Cancel jobs: those without an owner at once, running ones by asking their owner. Those in other states than are meant stay.
-- One that is aside stays, too: no worker would hear of it. Answers for every job found, whether it moved or not. Held jobs have their timer at the end of time, which is
-- the largest number there is.

-- part: given
INSERT INTO temp.given (job, fence) VALUES (?, 0);

-- part: found
INSERT INTO temp.moving (id, line, source, target, due_at)
SELECT s.id, s.line, s.state,
       CASE WHEN s.state NOT IN (SELECT value FROM json_each(:states)) THEN NULL
            WHEN EXISTS (SELECT 1 FROM tenure_aside aside WHERE aside.job = s.id) THEN NULL
            WHEN s.state = 'running' THEN 'cancelling'
            WHEN s.state IN ('created', 'scheduled', 'queued', 'retrying', 'suspended') THEN 'cancelled'
       END,
       CASE WHEN s.state = 'created' THEN 9223372036854775807 ELSE coalesce(s.due_at, 9223372036854775807) END
  FROM temp.given CROSS JOIN tenure_job_state s ON s.id = given.job;

-- part: moved
UPDATE tenure_job_state AS s
   SET state               = m.target,
       n                   = s.n + 1,
       cancel_requested_at = :now,
       due_at              = NULL,
       finished_at         = CASE WHEN m.target = 'cancelled' THEN :now END,
       updated_at          = :now
  FROM temp.moving m
 WHERE s.id = m.id AND m.target IS NOT NULL;

-- part: recorded
INSERT INTO tenure_event (job, n, type, source, target, attempt, fence, at, actor, reason, mark)
SELECT s.id, s.n, s.state, m.source, s.state, s.attempt, s.fence, :now, :actor, :reason, :mark
  FROM temp.moving m CROSS JOIN tenure_job_state s ON s.id = m.id
 WHERE m.target IS NOT NULL;

-- part: told
UPDATE tenure_sequence SET n = n + 1
 WHERE name = 'stop' AND EXISTS (SELECT 1 FROM temp.moving WHERE target = 'cancelling');

-- part: out_of_line
DELETE FROM tenure_ready
 WHERE (line, rank, seq) IN (SELECT s.line, s.rank, s.seq
                               FROM temp.moving m CROSS JOIN tenure_job_state s ON s.id = m.id
                              WHERE m.source = 'queued');

-- part: untimed
-- Found by when they are due; `+` keeps SQLite from going through each kind instead.
DELETE FROM tenure_timer
 WHERE (due_at, job) IN (SELECT due_at, id FROM temp.moving WHERE target IS NOT NULL)
   AND +kind IN ('hold', 'scheduled', 'retry', 'resume', 'wait', 'give_up');

-- part: unwaited
DELETE FROM tenure_wait WHERE job IN (SELECT id FROM temp.moving WHERE source = 'suspended' AND target IS NOT NULL);

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
SELECT id AS job, coalesce(target, source) AS state, target IS NOT NULL AS moved,
       EXISTS (SELECT 1 FROM tenure_aside aside WHERE aside.job = moving.id) AS is_aside
  FROM temp.moving;
