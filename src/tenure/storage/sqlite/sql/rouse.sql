-- Resume suspended jobs for which has come what they wait for: the signal, or that an effect is in doubt no more.

-- part: given
INSERT INTO temp.given (job, fence) VALUES (?, 0);

-- part: due
INSERT INTO temp.moving (id, line, source, fence, due_at, target)
SELECT s.id, s.line, s.state, s.fence, coalesce(s.due_at, 9223372036854775807), 'queued'
  FROM temp.given
 CROSS JOIN tenure_job_state s ON s.id = given.job AND s.state = 'suspended'
 CROSS JOIN tenure_wait wait ON wait.job = s.id AND wait.fence = s.fence
 WHERE CASE wait.kind
            WHEN 'signal' THEN EXISTS (SELECT 1 FROM tenure_signal signal
                                        WHERE signal.job = s.id AND signal.name = wait.signal)
            WHEN 'answer' THEN NOT EXISTS (SELECT 1 FROM tenure_step step
                                            WHERE step.job = s.id AND step.name = wait.step
                                              AND step.status = 'intended')
       END
   AND NOT EXISTS (SELECT 1 FROM tenure_aside aside WHERE aside.job = s.id);

-- part: moved
UPDATE tenure_job_state AS s
   SET state      = 'queued',
       n          = s.n + 1,
       seq        = m.position + (SELECT n FROM tenure_sequence WHERE name = 'place'),
       due_at     = NULL,
       queued_at  = :now,
       updated_at = :now
  FROM temp.moving m
 WHERE s.id = m.id;

-- part: numbered
UPDATE tenure_sequence SET n = n + (SELECT count(*) FROM temp.moving)
 WHERE name = 'place' AND EXISTS (SELECT 1 FROM temp.moving);

-- part: recorded
INSERT INTO tenure_event (job, n, type, source, target, attempt, fence, at, actor, mark)
SELECT s.id, s.n, 'resumed', m.source, s.state, s.attempt, s.fence, :now, :actor, :mark
  FROM temp.moving m CROSS JOIN tenure_job_state s ON s.id = m.id;

-- part: untimed
DELETE FROM tenure_timer
 WHERE (due_at, job, kind) IN (SELECT due_at, id, iif(due_at = 9223372036854775807, 'wait', 'resume') FROM temp.moving);

-- part: unwaited
DELETE FROM tenure_wait WHERE job IN (SELECT id FROM temp.moving);

-- part: lined_up
INSERT INTO tenure_ready (line, rank, seq, job)
SELECT s.line, s.rank, s.seq, s.id FROM temp.moving m CROSS JOIN tenure_job_state s ON s.id = m.id;

-- part: tallied
INSERT INTO tenure_tally (line, state, n) SELECT line, state, n FROM temp.change WHERE true
ON CONFLICT DO UPDATE SET n = n + excluded.n;

-- part: answer
SELECT id AS job, fence, target AS state FROM temp.moving;
