-- Jobs that no verb will ever move on, in a portion of all jobs by id, downwards. The last row says how many jobs the
-- portion had, and which was its last one. One statement sees one moment, so that a job under way is never found by
-- mistake. LIMIT keeps each look a look-up by the index.
WITH
portion AS MATERIALIZED (
    SELECT id, state, line, rank, seq, due_at, lease, fence, updated_at
      FROM tenure.job_state
     WHERE id < :before::uuid
     ORDER BY id DESC
     LIMIT :limit::integer
),
stuck AS (
    SELECT s.id, s.updated_at,
           CASE WHEN s.state = 'queued'
                THEN CASE WHEN (SELECT 1 FROM tenure.ready
                                 WHERE ready.line = s.line AND ready.rank = s.rank AND ready.seq = s.seq
                                   AND ready.job = s.id LIMIT 1) IS NULL THEN 'no_place' END
                WHEN s.state IN ('scheduled', 'retrying', 'suspended')
                THEN CASE WHEN (SELECT 1 FROM tenure.timer
                                 WHERE timer.due_at = coalesce(s.due_at, 'infinity') AND timer.job = s.id
                                   AND (s.due_at IS NOT NULL OR timer.kind = 'wait'
                                        AND EXISTS (SELECT FROM tenure.wait WHERE wait.job = s.id AND wait.fence = s.fence)) LIMIT 1) IS NULL THEN 'no_timer' END
                WHEN s.state IN ('running', 'cancelling')
                THEN CASE WHEN (SELECT 1 FROM tenure.lease WHERE lease.id = s.lease LIMIT 1) IS NULL THEN 'no_lease' END
           END AS kind
      FROM portion s
)
SELECT id AS job, kind, NULL::bigint AS number, updated_at
  FROM stuck
 WHERE kind IS NOT NULL
   AND (SELECT 1 FROM tenure.aside WHERE aside.job = stuck.id LIMIT 1) IS NULL
 UNION ALL
SELECT (SELECT id FROM portion ORDER BY id LIMIT 1), 'end', (SELECT count(*) FROM portion), NULL;
