-- The minutes on record with what each says of definitions, or the hours with theirs.
SELECT minute_at, ended, CASE WHEN :by_hour::boolean THEN hour ELSE detail END AS detail
  FROM tenure.pace
 WHERE minute_at > tenure.now() - :since::interval
   AND CASE WHEN :by_hour::boolean THEN hour ELSE detail END IS NOT NULL
 ORDER BY minute_at;
