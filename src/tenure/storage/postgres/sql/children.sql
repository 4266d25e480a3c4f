-- Jobs that a job has started, as many as asked for. Which ones is left open where there are more: their order of creation
-- is not in the index, and to sort all of them could take long.
SELECT id FROM tenure.job WHERE parent = :job::uuid LIMIT :limit::integer;
