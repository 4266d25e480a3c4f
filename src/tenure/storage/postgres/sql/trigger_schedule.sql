-- Note a run by hand, at this moment or just after one that is on record for it, if the schedule is as it was read. It
-- does not move, and a tick of its own at the same moment has a place of its own.
INSERT INTO tenure.tick (namespace, schedule, at, outcome, job, is_open, is_by_hand, noted_at)
SELECT namespace, name,
       coalesce((SELECT max(at) + interval '1 microsecond' FROM tenure.tick
                  WHERE tick.namespace = found.namespace AND tick.schedule = found.name AND at >= tenure.now()
                    AND is_by_hand),
                tenure.now()),
       'by_hand', :job::uuid, :is_open::boolean, true, tenure.now()
  FROM (SELECT namespace, name FROM tenure.schedule
         WHERE namespace = :namespace::text AND name = :name::text AND revision = :revision::integer FOR UPDATE) found
RETURNING at, noted_at;
