-- Remove log lines of finished jobs that go earlier than their jobs; the jobs stay. It steps from one job that has
-- lines to the next, so that those whose lines are gone cost nothing however long they are kept.

-- part: cleared
DELETE FROM temp.pruning; DELETE FROM temp.keeping;

-- part: given
INSERT INTO temp.keeping (definition, logs) VALUES (?, ?);

-- part: looked_at
INSERT INTO temp.pruning (id, line, is_found)
WITH RECURSIVE walked (job, n) AS (
    SELECT (SELECT min(job) FROM tenure_log WHERE job > :after AND job <= :last), 1
     UNION ALL
    SELECT (SELECT min(log.job) FROM tenure_log log WHERE log.job > walked.job AND log.job <= :last), n + 1
      FROM walked
     WHERE job IS NOT NULL AND n < :limit
)
SELECT s.id, s.line,
       coalesce(s.state IN ('succeeded', 'failed', 'cancelled', 'buried')
                AND s.finished_at <= :now - coalesce(own.logs, :logs)
                AND (:definition IS NULL OR line.definition = :definition), 0)
  FROM walked
 CROSS JOIN tenure_job_state s ON s.id = walked.job
 CROSS JOIN tenure_line line ON line.id = s.line
  LEFT JOIN temp.keeping own ON own.definition = line.definition;

-- part: counted
UPDATE temp.pruning
   SET is_over = is_found AND NOT :dry,
       lines = (SELECT count(*) FROM tenure_log log WHERE is_found AND log.job = pruning.id);

-- part: permitted
INSERT INTO tenure_permit (pruning) SELECT 1 WHERE EXISTS (SELECT 1 FROM temp.pruning WHERE is_over);

-- part: lines
DELETE FROM tenure_log WHERE job IN (SELECT id FROM temp.pruning WHERE is_over);

-- part: forbidden
DELETE FROM tenure_permit;

-- part: answer
SELECT coalesce(sum(lines), 0) AS lines, CASE WHEN count(*) >= :limit THEN max(id) END AS next FROM temp.pruning;
