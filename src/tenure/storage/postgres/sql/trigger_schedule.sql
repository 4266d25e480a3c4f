-- Note a tick by hand, at this moment or just after one that is on record for it. The schedule itself does not move.
INSERT INTO tenure.tick (namespace, schedule, at, outcome, job, is_open, noted_at)
SELECT namespace, name,
       coalesce((SELECT max(at) + interval '1 microsecond' FROM tenure.tick
                  WHERE tick.namespace = found.namespace AND tick.schedule = found.name AND at >= tenure.now()),
                tenure.now()),
       'by_hand', :job::uuid, :is_open::boolean, tenure.now()
  FROM (SELECT namespace, name FROM tenure.schedule
         WHERE namespace = :namespace::text AND name = :name::text FOR UPDATE) found
RETURNING at, noted_at;
