-- Fold running totals, and forget workers not seen for a day, and ticks and ended repetitions of 90 days ago; a tick whose
-- job has not ended stays, where its schedule asks about that. One process at a time is enough. A job begins in one of
-- three states: of these a total of zero stays, so that a line which had jobs is known.
WITH
turn AS MATERIALIZED (
    SELECT pg_try_advisory_xact_lock(7308325449218352742) AS mine
),
split AS (
    SELECT ctid AS tid, count(*) OVER (PARTITION BY line, state) AS rows FROM tenure.tally
),
taken AS (
    DELETE FROM tenure.tally
     WHERE (SELECT mine FROM turn) AND ctid = ANY (ARRAY(SELECT tid FROM split WHERE rows > 1))
    RETURNING line, state, n
),
folded AS (
    INSERT INTO tenure.tally (line, state, n)
    SELECT line, state, sum(n) FROM taken GROUP BY line, state
    HAVING sum(n) <> 0 OR state IN ('created', 'scheduled', 'queued')
    RETURNING line
),
forgotten AS (
    DELETE FROM tenure.worker WHERE seen_at < tenure.now() - interval '1 day' RETURNING id
),
old_ticks AS (
    DELETE FROM tenure.tick
     WHERE (SELECT mine FROM turn) AND ctid = ANY (ARRAY(SELECT ctid FROM tenure.tick
                                                          WHERE noted_at < tenure.now() - interval '90 days'
                                                            AND NOT (is_open AND coalesce((
                                                                    SELECT s.finished_at IS NULL FROM tenure.job_state s
                                                                     WHERE s.id = tick.job LIMIT 1), false))
                                                          ORDER BY noted_at LIMIT 10000))
),
old_announcements AS (
    DELETE FROM tenure.announced
     WHERE at < tenure.now() - interval '1 day'
       AND NOT EXISTS (SELECT FROM tenure.worker WHERE worker.id = announced.worker)
),
old_repetitions AS (
    DELETE FROM tenure.schedule
     WHERE (SELECT mine FROM turn) AND source = 'task' AND next_at IS NULL
       AND greatest(updated_at, last_at) < tenure.now() - interval '90 days'
)
SELECT (SELECT count(*) FROM taken) - (SELECT count(*) FROM folded) + (SELECT count(*) FROM forgotten) AS spared;
