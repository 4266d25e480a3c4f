-- What the attempts of one job wrote, by attempt and line, from behind a place on.
SELECT fence, n, at, level, text, fields
  FROM tenure.log
 WHERE job = :job::uuid
   AND (fence, n) > (:after_fence::bigint, :after_n::integer)
   AND fence <= :last_fence::bigint
 ORDER BY fence, n
 LIMIT :limit::integer;
