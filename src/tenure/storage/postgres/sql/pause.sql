-- Claim nothing from a line, or with neither definition nor version from any line of a queue.
INSERT INTO tenure.pause (queue, definition, version, at, until, by, reason)
VALUES (:queue::text, :definition::text, :version::integer, tenure.now(), :until::timestamptz, :by::text, :reason::text)
ON CONFLICT (queue, definition, version) DO UPDATE
   SET at = excluded.at, until = excluded.until, by = excluded.by, reason = excluded.reason;
