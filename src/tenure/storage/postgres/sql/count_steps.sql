-- How many steps a job has kept, which nobody counts: it is on record.
SELECT steps FROM tenure.kept WHERE job = :job::uuid;
