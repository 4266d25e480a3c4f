-- What the attempts of one job wrote, by attempt and line, from behind a place on.
SELECT fence, n, at, level, text, fields
  FROM tenure_log
 WHERE job = :job AND (fence, n) > (:after_fence, :after_n) AND fence <= :last_fence
 ORDER BY fence, n
 LIMIT :limit;
