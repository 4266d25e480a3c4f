-- Keep steps of attempts, as long as their leases hold. A name comes once a job and call. Answers for every step by its
-- place in the call.

-- part: cleared
DELETE FROM temp.stepping;

-- part: given
INSERT INTO temp.stepping (place, job, fence, name, kind, status, call, body, size) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?);

-- part: judged
UPDATE temp.stepping
   SET state = found.state, attempt = found.attempt, notes = found.notes, was = found.was, was_fence = found.was_fence,
       had = found.had, verdict = found.verdict
  FROM (SELECT given.place, s.state, s.attempt, s.notes, known.status AS was, known.fence AS was_fence,
               coalesce(known.size, 0) AS had,
               CASE WHEN known.status IS NULL                                    THEN 'new'
                    WHEN known.kind <> given.kind
                         OR known.call <> given.call AND known.status <> 'waiting' THEN 'differs'
                    WHEN known.status = given.status AND known.fence = given.fence
                         AND known.body IS given.body                            THEN 'same'
                    WHEN known.status IN ('done', 'skipped')
                         OR known.status = 'waiting' AND given.status <> 'done'  THEN 'differs'
                    ELSE 'next'
               END AS verdict
          FROM temp.stepping given
         CROSS JOIN tenure_lease lease ON lease.id = given.fence AND lease.owner = :worker AND lease.expires_at > :now
         CROSS JOIN tenure_job_state s ON s.id = given.job AND s.lease = given.fence
          LEFT JOIN tenure_step known ON known.job = given.job AND known.name = given.name) found
 WHERE found.place = stepping.place;

-- part: summed
-- How many steps and bytes there would be with each, after all of this call before it.
UPDATE temp.stepping
   SET steps = summed.steps, bytes = summed.bytes
  FROM (SELECT place,
               coalesce(kept.steps, 0) + count(*) FILTER (WHERE verdict = 'new') OVER before AS steps,
               coalesce(kept.bytes, 0) + coalesce(sum(coalesce(size, 0) - had) FILTER (WHERE verdict IN ('new', 'next')) OVER before, 0) AS bytes
          FROM temp.stepping given
          LEFT JOIN tenure_kept kept ON kept.job = given.job
        WINDOW before AS (PARTITION BY given.job ORDER BY place)) summed
 WHERE summed.place = stepping.place;

-- part: fitting
UPDATE temp.stepping
   SET verdict = 'full'
 WHERE verdict = 'new' AND steps > :most_steps
    OR verdict IN ('new', 'next') AND coalesce(size, 0) > had AND bytes > :most_bytes;

-- part: moved
UPDATE tenure_step AS step
   SET status = given.status, fence = given.fence, at = :now, call = given.call, size = given.size, body = given.body, answered_by = NULL
  FROM temp.stepping given
 WHERE given.verdict = 'next' AND step.job = given.job AND step.name = given.name;

-- part: added
INSERT INTO tenure_step (job, name, kind, status, fence, at, call, size, body)
SELECT job, name, kind, status, fence, :now, call, size, body
  FROM temp.stepping WHERE verdict = 'new' ORDER BY place;

-- part: tallied
INSERT INTO tenure_kept (job, fence, bytes, steps)
SELECT job, fence, sum(coalesce(size, 0) - had), count(*) FILTER (WHERE verdict = 'new')
  FROM temp.stepping WHERE verdict IN ('new', 'next') GROUP BY job, fence
ON CONFLICT DO UPDATE SET fence = excluded.fence, bytes = bytes + excluded.bytes, steps = steps + excluded.steps;

-- part: unwaited
DELETE FROM tenure_wait
 WHERE (job, step) IN (SELECT job, name FROM temp.stepping WHERE verdict = 'next' AND was = 'waiting');

-- part: announced
-- An effect that was in doubt goes on: that is told, as far as the job may have notes.
INSERT INTO tenure_event (job, n, type, source, target, attempt, fence, at, actor, payload, mark)
SELECT doubtful.job, s.n + number, :note, doubtful.state, doubtful.state, doubtful.attempt, doubtful.fence, :now, :worker,
       json_object('step', name, 'status', status), :mark
  FROM (SELECT job, name, status, state, attempt, fence, notes,
               row_number() OVER (PARTITION BY job ORDER BY place) AS number
          FROM temp.stepping WHERE verdict = 'next' AND was = 'intended' AND was_fence <> fence) doubtful
 CROSS JOIN tenure_job_state s ON s.id = doubtful.job
 WHERE doubtful.notes + number <= :most_notes;

-- part: counted
UPDATE tenure_job_state AS s
   SET n = s.n + told.taken, notes = s.notes + told.taken, updated_at = :now
  FROM (SELECT job, min(count(*), :most_notes - notes) AS taken
          FROM temp.stepping WHERE verdict = 'next' AND was = 'intended' AND was_fence <> fence
         GROUP BY job, notes) told
 WHERE s.id = told.job AND told.taken > 0;

-- part: answer
SELECT place,
       CASE verdict WHEN 'differs' THEN 'differs' WHEN 'full' THEN 'full' ELSE iif(verdict IS NULL, 'lost', 'kept') END AS keeping
  FROM temp.stepping ORDER BY place;
