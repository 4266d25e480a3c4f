-- Claim nothing from the lines of a queue, a definition and a version; where one is empty, or 0, any is meant.
INSERT INTO tenure_pause (queue, definition, version, at, until, by, reason)
VALUES (:queue, :definition, :version, :now, :until, :by, :reason)
ON CONFLICT DO UPDATE SET at = excluded.at, until = excluded.until, by = excluded.by, reason = excluded.reason;
