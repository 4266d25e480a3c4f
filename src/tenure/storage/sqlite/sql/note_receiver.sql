-- Note which queue of a broker leads a worker, and whether it can receive from it.

-- part: queue
-- The first search comes a while after the first worker: until then messages may be on their way.
INSERT INTO tenure_message_queue (name, searched_at) VALUES (:queue, :now)
ON CONFLICT DO NOTHING;

-- part: worker
-- It fails since the first of the notes in a row that say so.
INSERT INTO tenure_receiver (worker, queue, problem, noted_at, failing_at)
VALUES (:worker, :queue, :problem, :now, iif(:problem IS NOT NULL, :now, NULL))
ON CONFLICT (worker) DO UPDATE
   SET queue      = excluded.queue,
       problem    = excluded.problem,
       noted_at   = excluded.noted_at,
       failing_at = iif(excluded.problem IS NOT NULL, coalesce(failing_at, excluded.failing_at), NULL);
