-- Claim nothing from a line, or with neither definition nor version from any line of a queue.
INSERT INTO tenure_pause (queue, definition, version, at, until, by, reason)
VALUES (:queue, :definition, :version, :now, :until, :by, :reason)
ON CONFLICT DO UPDATE SET at = excluded.at, until = excluded.until, by = excluded.by, reason = excluded.reason;
