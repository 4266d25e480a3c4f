-- Note a run by hand, at this moment or just after one that is on record for it, if the schedule is as it was read. It
-- does not move, and a tick of its own at the same moment has a place of its own.
INSERT INTO tenure_tick (namespace, schedule, at, outcome, job, is_open, is_by_hand, noted_at)
SELECT namespace, name,
       coalesce((SELECT max(at) + 1 FROM tenure_tick tick
                  WHERE tick.namespace = schedule.namespace AND tick.schedule = schedule.name AND at >= :now
                    AND is_by_hand = 1), :now),
       'by_hand', :job, :is_open, 1, :now
  FROM tenure_schedule schedule
 WHERE namespace = :namespace AND name = :name AND revision = :revision
RETURNING at, noted_at;
