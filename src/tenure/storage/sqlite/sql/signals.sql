-- The signals that a job was sent, the first one first.
SELECT name, by, body FROM tenure_signal WHERE job = :job ORDER BY at, name;
