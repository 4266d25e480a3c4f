UPDATE tenure_audit SET outcome = :outcome WHERE id = :n AND outcome IS NULL;
