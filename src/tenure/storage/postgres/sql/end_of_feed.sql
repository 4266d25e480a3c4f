-- Behind everything that the feed would give now: the last mark below the oldest transaction in flight.
SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint - 1 AS mark;
