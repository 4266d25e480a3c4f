-- Move jobs that wait for a time, for their first attempt or for another one, to another time. Answers for every job found;
-- `moved` says whether this call changed its time. Those with a `kind`, that of their timer, are moved.

-- part: given
INSERT INTO temp.given (job, fence) VALUES (?, 0);

-- part: found
-- A time that has passed means now. A job that is already due then, or waits for that very time, stays as it is, so that a
-- request may be repeated. One that was given up stays so.
INSERT INTO temp.moving (id, source, due_at, to_at, kind)
SELECT id, state, due_at, to_at, iif(due_at IS NULL OR max(due_at, :now) <> to_at, kind, NULL)
  FROM (SELECT s.id, s.state, s.due_at, max(:now, coalesce(:run_at, :now + :delay, :now)) AS to_at,
               CASE WHEN EXISTS (SELECT 1 FROM tenure_aside aside WHERE aside.job = s.id) THEN NULL
                    WHEN EXISTS (SELECT 1 FROM tenure_timer timer
                                  WHERE timer.due_at = s.due_at AND timer.job = s.id AND timer.kind = 'give_up')
                    THEN NULL
                    WHEN s.state = 'scheduled' THEN 'scheduled'
                    WHEN s.state = 'retrying' THEN 'retry'
               END AS kind
          FROM temp.given CROSS JOIN tenure_job_state s ON s.id = given.job);

-- part: moved
UPDATE tenure_job_state AS s
   SET due_at = m.to_at, n = s.n + 1, updated_at = :now
  FROM temp.moving m
 WHERE s.id = m.id AND m.kind IS NOT NULL;

-- part: untimed
DELETE FROM tenure_timer WHERE (due_at, job, kind) IN (SELECT due_at, id, kind FROM temp.moving);

-- part: timed
INSERT OR IGNORE INTO tenure_timer (due_at, job, kind)
SELECT to_at, id, kind FROM temp.moving WHERE kind IS NOT NULL;

-- part: recorded
-- A note: it counts in `n` and not in `notes`, which bounds those of handlers.
INSERT INTO tenure_event (job, n, type, source, target, attempt, fence, at, actor, payload, mark)
SELECT s.id, s.n, 'rescheduled', s.state, s.state, s.attempt, s.fence, :now, :actor,
       json_object('from', strftime('%Y-%m-%dT%H:%M:%S', m.due_at / 1000000, 'unixepoch')
                           || printf('.%06dZ', m.due_at % 1000000),
                   'to', strftime('%Y-%m-%dT%H:%M:%S', m.to_at / 1000000, 'unixepoch')
                         || printf('.%06dZ', m.to_at % 1000000)),
       :mark
  FROM temp.moving m CROSS JOIN tenure_job_state s ON s.id = m.id
 WHERE m.kind IS NOT NULL;

-- part: answer
SELECT id AS job, source AS state, kind IS NOT NULL AS moved,
       EXISTS (SELECT 1 FROM tenure_aside aside WHERE aside.job = moving.id) AS is_aside,
       EXISTS (SELECT 1 FROM tenure_timer timer
                WHERE timer.due_at = moving.due_at AND timer.job = moving.id AND timer.kind = 'give_up') AS is_given_up
  FROM temp.moving;
