-- Note a tick by hand, at this moment or just after one that is on record for it. The schedule itself does not move.
INSERT INTO tenure_tick (namespace, schedule, at, outcome, job, is_open, noted_at)
SELECT namespace, name,
       coalesce((SELECT max(at) + 1 FROM tenure_tick tick
                  WHERE tick.namespace = schedule.namespace AND tick.schedule = schedule.name AND at >= :now), :now),
       'by_hand', :job, :is_open, :now
  FROM tenure_schedule schedule
 WHERE namespace = :namespace AND name = :name
RETURNING at, noted_at;
