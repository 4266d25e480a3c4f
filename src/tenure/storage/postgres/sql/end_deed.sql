UPDATE tenure.audit SET outcome = :outcome::text WHERE id = :n::bigint AND outcome IS NULL;
