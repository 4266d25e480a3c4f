-- Steps of a job in the order in which they were first kept, with their whole results.
SELECT name, kind, status, fence, at, call, size, until_at, answered_by, body
  FROM tenure_step
 WHERE job = :job AND n > coalesce((SELECT n FROM tenure_step WHERE job = :job AND name = :after), 0)
 ORDER BY n
 LIMIT :limit;
