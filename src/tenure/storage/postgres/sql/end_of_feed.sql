-- The last mark that the feed would give now. A number without an event would not do: after a crash the server may give
-- it to another transaction.
SELECT greatest((SELECT mark FROM tenure.event WHERE mark < tenure.horizon() ORDER BY mark DESC LIMIT 1),
                (SELECT mark FROM tenure.job WHERE mark < tenure.horizon() ORDER BY mark DESC LIMIT 1), 0) AS mark;
