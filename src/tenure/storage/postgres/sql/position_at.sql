-- The last mark up to which all events are from before a moment, found by halving: marks and times grow together, but for
-- transactions that took long from their beginning to their first write, which is what the caller allows for.
WITH RECURSIVE
search (low, high) AS (
    SELECT 0::bigint, coalesce((SELECT mark FROM tenure.event ORDER BY mark DESC LIMIT 1), 0) + 1
     UNION ALL
    SELECT CASE WHEN probe.at < :moment::timestamptz THEN probe.mark ELSE search.low END,
           CASE WHEN probe.at < :moment::timestamptz THEN search.high ELSE half.middle END
      FROM search
     CROSS JOIN LATERAL (SELECT (search.low + search.high) / 2 AS middle) half
      LEFT JOIN LATERAL (SELECT event.mark, event.at
                           FROM tenure.event
                          WHERE event.mark >= half.middle AND event.mark < search.high
                          ORDER BY event.mark LIMIT 1) probe ON true
     WHERE search.low + 1 < search.high
)
SELECT max(low) AS mark FROM search;
