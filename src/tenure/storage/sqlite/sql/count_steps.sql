-- How many steps a job has kept: a total that is kept along, so that nobody counts them.
SELECT steps FROM tenure_kept WHERE job = :job;
