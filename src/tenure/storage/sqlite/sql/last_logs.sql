-- The last of what the attempts of one job wrote, the latest first.
SELECT fence, n, at, level, text, fields
  FROM tenure_log
 WHERE job = :job
 ORDER BY fence DESC, n DESC
 LIMIT :limit;
