-- Remove log lines of finished jobs that go earlier than their jobs; the jobs stay. It steps from one job that has
-- lines to the next, so that those whose lines are gone cost nothing however long they are kept. The state is locked
-- first, as by everything that deletes: so two that delete the same lines never wait for each other.
WITH RECURSIVE
permitted AS MATERIALIZED (
    SELECT set_config('tenure.pruning', 'on', true)
),
walked (job, n) AS (
    SELECT (SELECT job FROM tenure.log WHERE job >= :first::uuid AND job <= :last::uuid ORDER BY job LIMIT 1), 1
     UNION ALL
    SELECT (SELECT log.job FROM tenure.log WHERE log.job > walked.job AND log.job <= :last::uuid ORDER BY log.job LIMIT 1),
           n + 1
      FROM walked
     WHERE job IS NOT NULL AND n < :limit::integer
),
looked_at AS MATERIALIZED (
    SELECT s.id, s.line
      FROM walked
     CROSS JOIN LATERAL (SELECT id, line FROM tenure.job_state s WHERE s.id = walked.job LIMIT 1) s
),
kept AS MATERIALIZED (
    SELECT line.id, coalesce(own.logs, :logs::interval) AS logs
      FROM (SELECT DISTINCT line FROM looked_at) seen
     CROSS JOIN LATERAL (SELECT id, definition FROM tenure.line WHERE line.id = seen.line LIMIT 1) line
      LEFT JOIN unnest(:own_of::text[], :own_logs::interval[]) AS own (definition, logs)
                ON own.definition = line.definition
     WHERE :definition::text IS NULL OR line.definition = :definition::text
),
found AS MATERIALIZED (
    SELECT s.id
      FROM permitted
     CROSS JOIN looked_at
      JOIN kept ON kept.id = looked_at.line
     CROSS JOIN LATERAL (
               SELECT s.id
                 FROM tenure.job_state s
                WHERE s.id = looked_at.id
                  AND s.state IN ('succeeded', 'failed', 'cancelled', 'buried')
                  AND s.finished_at <= tenure.now() - kept.logs
                  FOR UPDATE SKIP LOCKED
           ) s
),
counted AS MATERIALIZED (
    SELECT lines.n
      FROM found CROSS JOIN LATERAL (SELECT count(*) AS n FROM tenure.log WHERE log.job = found.id) lines
     WHERE :dry::boolean
),
gone AS (
    DELETE FROM tenure.log WHERE job = ANY (ARRAY(SELECT id FROM found WHERE NOT :dry::boolean)) RETURNING 1
)
SELECT (SELECT count(*) FROM gone) + (SELECT coalesce(sum(n), 0) FROM counted)::bigint AS lines,
       (SELECT job FROM walked WHERE n = :limit::integer) AS next;
