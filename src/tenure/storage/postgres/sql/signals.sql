-- The signals that a job was sent, the first one first.
SELECT name, by, body FROM tenure.signal WHERE job = :job::uuid ORDER BY at, name;
