-- Introduce a worker, or bring up to date what is known of it; the lines it serves are there from now on.

-- part: lines
INSERT INTO tenure_line (queue, definition, version)
SELECT DISTINCT value ->> 0, value ->> 1, value ->> 2 FROM json_each(:lines) WHERE true
ON CONFLICT DO NOTHING;

-- part: answer
INSERT INTO tenure_worker (id, pid, slots, host, version, lines, started_at, seen_at)
VALUES (:id, :pid, :slots, :host, :version, :lines, :now, :now)
ON CONFLICT DO UPDATE
   SET pid = excluded.pid, slots = excluded.slots, host = excluded.host, version = excluded.version,
       lines = excluded.lines, seen_at = excluded.seen_at;
