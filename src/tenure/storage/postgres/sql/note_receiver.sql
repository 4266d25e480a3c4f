-- Note which queue of a broker leads a worker, and whether it can receive from it.

-- part: queue
-- The first search comes a while after the first worker: until then messages may be on their way.
INSERT INTO tenure.message_queue (name, searched_at) VALUES (:queue::text, tenure.now())
ON CONFLICT DO NOTHING;

-- part: worker
-- It fails since the first of the notes in a row that say so.
INSERT INTO tenure.receiver (worker, queue, problem, noted_at, failing_at)
VALUES (:worker::text, :queue::text, :problem::text, tenure.now(),
        CASE WHEN :problem::text IS NOT NULL THEN tenure.now() END)
ON CONFLICT (worker) DO UPDATE
   SET queue      = excluded.queue,
       problem    = excluded.problem,
       noted_at   = excluded.noted_at,
       failing_at = CASE WHEN excluded.problem IS NOT NULL
                         THEN coalesce(receiver.failing_at, excluded.failing_at) END;
