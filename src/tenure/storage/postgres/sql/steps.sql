-- Steps of a job in the order in which they were first kept, with their whole results.
SELECT name, kind, status, fence, at, call, size, until_at, answered_by, body
  FROM tenure.step
 WHERE job = :job::uuid
   AND n > coalesce((SELECT n FROM tenure.step WHERE job = :job::uuid AND name = :after::text), 0)
 ORDER BY job, n
 LIMIT :limit::integer;
