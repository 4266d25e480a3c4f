-- Add a note to a job whose last claim was this lease, whatever has become of the job; or that ended without one. Two statements in one
-- transaction: the first locks the job, so that the second sees what others have added meanwhile.

-- part: lock
SELECT id FROM tenure.job_state WHERE id = :job::uuid AND fence = :fence::bigint FOR UPDATE;

-- part: note
-- The row of a finished job stays as it is: its notes are counted, ordered and dated by the last of them.
WITH
found AS MATERIALIZED (
    SELECT s.id, s.state, s.fence, s.finished_at IS NOT NULL AS is_over, coalesce(ended.number, s.attempt) AS attempt,
           coalesce(ended.worker, lease.owner, '') AS actor, coalesce(last.n, s.n) + 1 AS n,
           greatest(tenure.now(), s.updated_at, last.at) AS at,
           greatest(tenure.mark(), s.mark, last.mark) AS mark
      FROM tenure.job_state s
      LEFT JOIN LATERAL (
               SELECT event.n, event.at, event.mark FROM tenure.event
                WHERE event.job = s.id AND event.n > s.n AND s.finished_at IS NOT NULL
                ORDER BY event.job DESC, event.n DESC
                LIMIT 1
           ) last ON true
      LEFT JOIN tenure.attempt ended ON ended.job = s.id AND ended.fence = s.fence
      LEFT JOIN tenure.lease ON lease.id = s.lease
     WHERE s.id = :job::uuid AND s.fence = :fence::bigint AND (s.fence > 0 OR s.finished_at IS NOT NULL)
       AND s.notes + coalesce(last.n - s.n, 0) < :most::integer
),
counted AS (
    UPDATE tenure.job_state s
       SET n = found.n, mark = found.mark, notes = s.notes + 1, updated_at = found.at
      FROM found
     WHERE s.id = found.id AND NOT found.is_over
)
INSERT INTO tenure.event (job, n, type, source, target, attempt, fence, at, actor, payload, mark)
SELECT id, n, :type::text, state, state, attempt, fence, at, actor, :payload::text, mark FROM found
RETURNING job;

-- part: hold
SELECT id FROM tenure.job_state WHERE id = :job::uuid FOR UPDATE;

-- part: lines
-- Behind those that were written under that lease; it need not be the last one, since each has numbers of its own.
INSERT INTO tenure.log (job, fence, n, at, level, text, fields)
SELECT s.id, :fence::bigint, last.n + line.place, line.at, line.level, line.text, line.fields
  FROM tenure.job_state s
 CROSS JOIN (SELECT coalesce(max(n), 0) AS n FROM tenure.log WHERE job = :job::uuid AND fence = :fence::bigint) last
 CROSS JOIN unnest(:ats::timestamptz[], :levels::text[], :texts::text[], :fields::text[])
       WITH ORDINALITY AS line (at, level, text, fields, place)
 WHERE s.id = :job::uuid AND s.fence >= :fence::bigint AND (:fence::bigint > 0 OR s.finished_at IS NOT NULL)
RETURNING job;
