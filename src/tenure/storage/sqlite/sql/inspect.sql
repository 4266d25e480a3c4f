-- Jobs that no verb will ever move on, since somebody has moved them by hand: who is queued and stands in no line, who
-- waits and has no timer, who is owned and has no lease. Reads the state of every job there is.
SELECT s.id AS job, 'no_place' AS kind
  FROM tenure_job_state s
 WHERE s.state = 'queued'
   AND NOT EXISTS (SELECT 1 FROM tenure_ready ready
                    WHERE ready.line = s.line AND ready.rank = s.rank AND ready.seq = s.seq AND ready.job = s.id)
 UNION ALL
SELECT s.id, 'no_timer'
  FROM tenure_job_state s
 WHERE s.state IN ('scheduled', 'retrying', 'suspended')
   AND NOT EXISTS (SELECT 1 FROM tenure_timer timer WHERE timer.due_at = s.due_at AND timer.job = s.id)
 UNION ALL
SELECT s.id, 'no_lease'
  FROM tenure_job_state s
 WHERE s.state IN ('running', 'cancelling')
   AND NOT EXISTS (SELECT 1 FROM tenure_lease lease WHERE lease.id = s.lease)
 LIMIT :limit;
