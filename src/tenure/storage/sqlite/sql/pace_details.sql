-- The minutes on record with what each says of definitions, or the hours with theirs.
SELECT minute_at, ended, CASE WHEN :by_hour THEN hour ELSE detail END AS detail
  FROM tenure_pace
 WHERE minute_at > :now - :since
   AND CASE WHEN :by_hour THEN hour ELSE detail END IS NOT NULL
 ORDER BY minute_at;
