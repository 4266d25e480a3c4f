-- The last ticks of schedules, each schedule's newest first, with the states and times of their jobs. Two may share a
-- moment, so there may be one more than asked for.
SELECT tick.*, s.state, s.started_at, s.finished_at
  FROM json_each(:names) asked
 CROSS JOIN tenure_tick tick
    ON tick.namespace = asked.value ->> 0 AND tick.schedule = asked.value ->> 1
   AND tick.at >= coalesce((SELECT at FROM tenure_tick
                             WHERE namespace = asked.value ->> 0 AND schedule = asked.value ->> 1
                             ORDER BY at DESC, is_by_hand DESC LIMIT 1 OFFSET :limit - 1), 0)
  LEFT JOIN tenure_job_state s ON s.id = tick.job
 ORDER BY tick.namespace, tick.schedule, tick.at DESC, tick.is_by_hand DESC;
