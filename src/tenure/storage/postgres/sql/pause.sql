-- Claim nothing from the lines of a queue, a definition and a version; where one is empty, or 0, any is meant.
INSERT INTO tenure.pause (queue, definition, version, at, until, by, reason)
VALUES (:queue::text, :definition::text, :version::integer, tenure.now(), :until::timestamptz, :by::text, :reason::text)
ON CONFLICT (queue, definition, version) DO UPDATE
   SET at = excluded.at, until = excluded.until, by = excluded.by, reason = excluded.reason;
