-- The last of what the attempts of one job wrote, the latest first.
SELECT fence, n, at, level, text, fields
  FROM tenure.log
 WHERE job = :job::uuid
 ORDER BY fence DESC, n DESC
 LIMIT :limit::integer;
