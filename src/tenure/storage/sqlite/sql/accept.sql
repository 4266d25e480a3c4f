-- Let held jobs go: to `scheduled` while their time is ahead, else to `queued`.
-- Answers for every job found, whether it moved or not. Held jobs have their timer at the end of time, which is
-- the largest number there is.

-- part: given
INSERT INTO temp.given (job, fence) VALUES (?, 0);

-- part: found
INSERT INTO temp.moving (id, line, source, target, due_at)
SELECT s.id, s.line, s.state,
       CASE WHEN s.state <> 'created' THEN NULL WHEN s.due_at > :now THEN 'scheduled' ELSE 'queued' END, s.due_at
  FROM temp.given CROSS JOIN tenure_job_state s ON s.id = given.job
 ORDER BY s.id;

-- part: moved
UPDATE tenure_job_state AS s
   SET state      = m.target,
       n          = s.n + 1,
       seq        = m.position + (SELECT n FROM tenure_sequence WHERE name = 'place'),
       due_at     = CASE WHEN m.target = 'scheduled' THEN s.due_at END,
       queued_at  = CASE WHEN m.target = 'queued' THEN :now END,
       updated_at = :now
  FROM temp.moving m
 WHERE s.id = m.id AND m.target IS NOT NULL;

-- part: numbered
UPDATE tenure_sequence SET n = n + (SELECT count(*) FROM temp.moving)
 WHERE name = 'place' AND EXISTS (SELECT 1 FROM temp.moving);

-- part: recorded
INSERT INTO tenure_event (job, n, type, source, target, attempt, fence, at, actor, mark)
SELECT s.id, s.n, 'accepted', 'created', s.state, s.attempt, s.fence, :now, 'api', :mark
  FROM temp.moving m CROSS JOIN tenure_job_state s ON s.id = m.id
 WHERE m.target IS NOT NULL;

-- part: released
DELETE FROM tenure_timer
 WHERE (due_at, job, kind) IN (SELECT 9223372036854775807, id, 'hold' FROM temp.moving WHERE target IS NOT NULL);

-- part: lined_up
INSERT INTO tenure_ready (line, rank, seq, job)
SELECT s.line, s.rank, s.seq, s.id
  FROM temp.moving m CROSS JOIN tenure_job_state s ON s.id = m.id
 WHERE m.target = 'queued';

-- part: timed
INSERT INTO tenure_timer (due_at, job, kind)
SELECT due_at, id, 'scheduled' FROM temp.moving WHERE target = 'scheduled';

-- part: tallied
INSERT INTO tenure_tally (line, state, n) SELECT line, state, n FROM temp.change WHERE true
ON CONFLICT DO UPDATE SET n = n + excluded.n;

-- part: answer
SELECT id AS job, coalesce(target, source) AS state, target IS NOT NULL AS moved FROM temp.moving;
