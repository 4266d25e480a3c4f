-- Introduce a worker, or bring up to date what is known of it.
INSERT INTO tenure.worker (id, pid, slots, host, version, lines, started_at, seen_at)
VALUES (:id::text, :pid::integer, :slots::integer, :host::text, :version::text, :lines::text, tenure.now(), tenure.now())
ON CONFLICT (id) DO UPDATE
   SET pid = excluded.pid, slots = excluded.slots, host = excluded.host, version = excluded.version,
       lines = excluded.lines, seen_at = excluded.seen_at;
