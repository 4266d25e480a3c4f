-- The last ticks of schedules, each schedule's newest first, with the states and times of their jobs.
SELECT last.*, s.state::text AS state, s.started_at, s.finished_at
  FROM unnest(:namespaces::text[], :names::text[]) AS asked (namespace, name)
 CROSS JOIN LATERAL (SELECT tick.*
                       FROM tenure.tick
                      WHERE tick.namespace = asked.namespace AND tick.schedule = asked.name
                      ORDER BY tick.at DESC, tick.is_by_hand DESC LIMIT :limit::integer) last
  LEFT JOIN LATERAL (SELECT state, started_at, finished_at FROM tenure.job_state
                      WHERE job_state.id = last.job LIMIT 1) s ON true
 ORDER BY last.namespace, last.schedule, last.at DESC, last.is_by_hand DESC;
