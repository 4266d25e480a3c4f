-- Remove finished jobs whose time is over, with all that belongs to them: nothing else deletes. The guards let it
-- through while the permit is there, which no other transaction ever sees.

-- part: cleared
DELETE FROM temp.pruning; DELETE FROM temp.keeping;

-- part: given
INSERT INTO temp.keeping (definition, succeeded, others, keyed) VALUES (?, ?, ?, ?);

-- part: looked_at
INSERT INTO temp.pruning (id, line, state, is_over)
SELECT s.id, s.line, s.state,
       s.state IN ('succeeded', 'failed', 'cancelled', 'buried')
       AND s.state IN (SELECT value FROM json_each(:states))
       AND s.finished_at <= :now - CASE WHEN s.state = 'succeeded' THEN coalesce(own.succeeded, :succeeded)
                                        ELSE coalesce(own.others, :others) END
       AND (job.key IS NULL OR job.asked_by IS NOT NULL OR s.finished_at <= :now - coalesce(own.keyed, :keyed))
       AND (:ended_before IS NULL OR s.finished_at < :ended_before)
       AND (:definition IS NULL OR line.definition = :definition)
       -- Whether its effect has happened is still to be said.
       AND NOT EXISTS (SELECT 1 FROM tenure_step step WHERE step.job = s.id AND step.status = 'intended')
       -- The next attempt of its parent will ask for it again.
       AND NOT EXISTS (SELECT 1 FROM tenure_job_state parent
                        WHERE parent.id = job.asked_by
                          AND parent.state NOT IN ('succeeded', 'failed', 'cancelled', 'buried'))
       -- What a cursor has not passed is still to be told, unless nobody moves that cursor.
       AND NOT EXISTS (SELECT 1 FROM (SELECT mark, job, n FROM tenure_cursor WHERE held_at > :now - 86400000000
                                       ORDER BY mark, job, n LIMIT 1) untold
                        WHERE s.finished_at > :now - 604800000000
                                              - CASE WHEN s.state = 'succeeded' THEN coalesce(own.succeeded, :succeeded)
                                                     ELSE coalesce(own.others, :others) END
                          AND EXISTS (SELECT 1 FROM tenure_event event
                                       WHERE event.job = s.id
                                         AND (event.mark, event.job, event.n) > (untold.mark, untold.job, untold.n)))
  FROM (SELECT *
          FROM (SELECT id, line, key, CASE WHEN scope = '(child)' THEN parent END AS asked_by
                  FROM tenure_job
                 WHERE :jobs IS NULL AND id > :after AND id <= :last ORDER BY id LIMIT :limit)
         UNION ALL
        SELECT named.id, named.line, named.key, CASE WHEN named.scope = '(child)' THEN named.parent END
          FROM json_each(:jobs) asked
         CROSS JOIN tenure_job named ON named.id = asked.value) job
 CROSS JOIN tenure_job_state s ON s.id = job.id
 CROSS JOIN tenure_line line ON line.id = job.line
  LEFT JOIN temp.keeping own ON own.definition = line.definition;

-- part: counted
-- A dry run goes the same way up to here: it cannot count what the next one would not remove.
UPDATE temp.pruning SET is_found = is_over, is_over = is_over AND NOT :dry;

-- part: permitted
INSERT INTO tenure_permit (pruning) SELECT 1 WHERE EXISTS (SELECT 1 FROM temp.pruning WHERE is_over);

-- part: tags
DELETE FROM tenure_tag
 WHERE (name, job) IN (SELECT tag.value, job.id
                         FROM temp.pruning
                        CROSS JOIN tenure_job job ON job.id = pruning.id
                        CROSS JOIN json_each(job.tags) tag
                        WHERE pruning.is_over AND job.tags IS NOT NULL);

-- part: shelf
DELETE FROM tenure_finished WHERE (state, job) IN (SELECT state, id FROM temp.pruning WHERE is_over);

-- part: aftermath
DELETE FROM tenure_aftermath
 WHERE (queue, definition, version, job) IN (SELECT line.queue, line.definition, line.version, pruning.id
                                               FROM temp.pruning CROSS JOIN tenure_line line ON line.id = pruning.line
                                              WHERE pruning.is_over);

-- part: asides
DELETE FROM tenure_aside WHERE job IN (SELECT id FROM temp.pruning WHERE is_over);

-- part: timers
-- Whatever kinds of timers there are, those of newer versions too: hops from one to the next.
DELETE FROM tenure_timer
 WHERE (kind, job) IN (
           WITH RECURSIVE kinds (kind) AS (
               SELECT min(kind) FROM tenure_timer
                UNION ALL
               SELECT (SELECT min(timer.kind) FROM tenure_timer timer WHERE timer.kind > kinds.kind)
                 FROM kinds WHERE kinds.kind IS NOT NULL
           )
           SELECT kinds.kind, pruning.id FROM kinds CROSS JOIN temp.pruning WHERE kinds.kind IS NOT NULL AND is_over);

-- part: steps
-- Most jobs have kept nothing, and one look-up says so: who has steps, or has waited, is counted there.
DELETE FROM tenure_step
 WHERE job IN (SELECT kept.job FROM temp.pruning CROSS JOIN tenure_kept kept ON kept.job = pruning.id WHERE is_over);

-- part: waits
DELETE FROM tenure_wait
 WHERE job IN (SELECT kept.job FROM temp.pruning CROSS JOIN tenure_kept kept ON kept.job = pruning.id WHERE is_over);

-- part: kept
DELETE FROM tenure_kept WHERE job IN (SELECT id FROM temp.pruning WHERE is_over);

-- part: checkpoints
DELETE FROM tenure_checkpoint WHERE job IN (SELECT id FROM temp.pruning WHERE is_over);

-- part: signals
DELETE FROM tenure_signal WHERE job IN (SELECT id FROM temp.pruning WHERE is_over);

-- part: results
DELETE FROM tenure_result WHERE job IN (SELECT id FROM temp.pruning WHERE is_over);

-- part: attempts
DELETE FROM tenure_attempt WHERE job IN (SELECT id FROM temp.pruning WHERE is_over);

-- part: lines
DELETE FROM tenure_log WHERE job IN (SELECT id FROM temp.pruning WHERE is_over);

-- part: events
DELETE FROM tenure_event WHERE job IN (SELECT id FROM temp.pruning WHERE is_over);

-- part: states
DELETE FROM tenure_job_state WHERE id IN (SELECT id FROM temp.pruning WHERE is_over);

-- part: jobs
DELETE FROM tenure_job WHERE id IN (SELECT id FROM temp.pruning WHERE is_over);

-- part: tallied
INSERT INTO tenure_tally (line, state, n)
SELECT line, state, -count(*) FROM temp.pruning WHERE is_over GROUP BY line, state
 UNION ALL
SELECT 0, state, count(*) FROM temp.pruning WHERE is_over GROUP BY state
 ORDER BY 1
ON CONFLICT DO UPDATE SET n = n + excluded.n;

-- part: forbidden
DELETE FROM tenure_permit;

-- part: answer
SELECT count(*) FILTER (WHERE is_found) AS jobs,
       (SELECT json_group_array(json_array(definition, state, n))
          FROM (SELECT line.definition, pruning.state, count(*) AS n
                  FROM temp.pruning CROSS JOIN tenure_line line ON line.id = pruning.line
                 WHERE is_found GROUP BY line.definition, pruning.state)) AS counts,
       CASE WHEN :jobs IS NULL AND count(*) >= :limit THEN max(id) END AS next
  FROM temp.pruning;
