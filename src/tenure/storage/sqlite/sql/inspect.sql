-- What was made by hand and no guard refused. Jobs that no verb will ever move on: one that is queued and stands in no
-- line, waits and has no timer, is owned and has no lease, or is aside. And rows on record which no step of their
-- job has written: events that it has not counted, but for notes behind its end; attempts that have not ended; results
-- that it knows nothing of. Reads all there is.
WITH
unfinished AS MATERIALIZED (
    SELECT id, state, line, rank, seq, due_at, lease, fence
      FROM tenure_job_state
     WHERE state NOT IN ('succeeded', 'failed', 'cancelled', 'buried')
       AND NOT EXISTS (SELECT 1 FROM tenure_aside aside WHERE aside.job = tenure_job_state.id)
)
SELECT s.id AS job, 'no_place' AS kind, NULL AS number
  FROM unfinished s
 WHERE s.state = 'queued'
   AND NOT EXISTS (SELECT 1 FROM tenure_ready ready
                    WHERE ready.line = s.line AND ready.rank = s.rank AND ready.seq = s.seq AND ready.job = s.id)
 UNION ALL
SELECT job, 'aside', NULL FROM tenure_aside
 UNION ALL
SELECT s.id, 'no_timer', NULL
  FROM unfinished s
 WHERE s.state IN ('scheduled', 'retrying', 'suspended')
   AND NOT EXISTS (SELECT 1 FROM tenure_timer timer
                   WHERE timer.due_at = coalesce(s.due_at, 9223372036854775807) AND timer.job = s.id
                      AND (s.due_at IS NOT NULL OR timer.kind = 'wait'
                           AND EXISTS (SELECT 1 FROM tenure_wait wait WHERE wait.job = s.id AND wait.fence = s.fence)))
 UNION ALL
SELECT s.id, 'no_lease', NULL
  FROM unfinished s
 WHERE s.state IN ('running', 'cancelling')
   AND NOT EXISTS (SELECT 1 FROM tenure_lease lease WHERE lease.id = s.lease)
 UNION ALL
SELECT event.job, 'event', event.n
  FROM tenure_event event LEFT JOIN tenure_job_state s ON s.id = event.job
 WHERE s.id IS NULL
    OR event.n > s.n AND NOT (s.state IN ('succeeded', 'failed', 'cancelled', 'buried')
                              AND event.source = s.state AND event.target = s.state)
 UNION ALL
SELECT attempt.job, 'attempt', attempt.fence
  FROM tenure_attempt attempt LEFT JOIN tenure_job_state s ON s.id = attempt.job
 WHERE s.id IS NULL OR attempt.fence > s.fence OR attempt.fence = s.lease
 UNION ALL
SELECT result.job, 'result', NULL
  FROM tenure_result result LEFT JOIN tenure_job_state s ON s.id = result.job
 WHERE s.id IS NULL OR NOT (s.state = 'succeeded' AND s.has_result)
 LIMIT :limit;
