-- The last mark up to which all events are from before a moment, found by halving: marks and times grow together.
WITH RECURSIVE
search (low, high) AS (
    SELECT 0, coalesce((SELECT max(mark) FROM tenure_event), 0) + 1
     UNION ALL
    SELECT iif(coalesce((SELECT at FROM tenure_event event
                          WHERE mark >= (low + high) / 2 AND mark < high ORDER BY mark, job, n LIMIT 1) < :moment, 0),
               (SELECT mark FROM tenure_event event
                 WHERE mark >= (low + high) / 2 AND mark < high ORDER BY mark, job, n LIMIT 1),
               low),
           iif(coalesce((SELECT at FROM tenure_event event
                          WHERE mark >= (low + high) / 2 AND mark < high ORDER BY mark, job, n LIMIT 1) < :moment, 0),
               high,
               (low + high) / 2)
      FROM search
     WHERE low + 1 < high
)
SELECT max(low) AS mark FROM search;
