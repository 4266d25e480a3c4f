-- The oldest first, which have the lowest numbers. The guard lets it through while the permit is there, which no other
-- transaction ever sees.

-- part: permitted
INSERT INTO tenure_permit (pruning) VALUES (1);

-- part: removed
DELETE FROM tenure_audit
 WHERE id IN (SELECT id FROM tenure_audit ORDER BY id LIMIT :limit) AND at < :now - :older_than;

-- part: counted
UPDATE tenure_permit SET pruning = changes();

-- part: answer
DELETE FROM tenure_permit RETURNING pruning AS pruned;
