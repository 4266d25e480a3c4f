-- One turn of a worker, in one round trip: record how attempts ended, then claim the next jobs.
-- What only matters under limits is left out where nothing on either side of the turn stands under one: for a few jobs
-- PostgreSQL takes longer to get ready for what it then need not do than to do the rest. For the same reason a turn
-- that only passes slots on, from jobs that end to jobs that begin under the same limits, has a form of its own; and so
-- have turns that settle nothing: one for what was looked up just now, and `told`; and turns under limits with room for
-- more jobs than wait, `sparse`. The form `named` claims the first job
-- behind each number alone: it finds out which of them is refused.

-- part: turn
WITH
-- only: settling, limits, sparse, passing, named
given AS MATERIALIZED (
    SELECT *
      FROM unnest(:jobs::uuid[], :fences::bigint[], :endings::text[], :results::text[], :errors::text[],
                  :afters::interval[], :cpu_ms::bigint[], :peak_bytes::bigint[], :exit_codes::integer[],
                  :signals::smallint[])
           WITH ORDINALITY AS given (job, fence, ending, result, error, after, cpu_ms, peak_bytes, exit_code, signal,
                                     place)
),
-- Late is late: a lease that has run out settles nothing, even before the reaper comes. Read, not locked.
held AS MATERIALIZED (
    SELECT id FROM tenure.lease
     WHERE id = ANY (:held::bigint[]) AND owner = :worker::text AND expires_at > tenure.now()
),
-- Rows are locked in the order of ids, here and in every other verb, so that statements do not wait in a circle. A step
-- that had to wait began before the one it waited for: `at` keeps a job's history from running backwards.
decided AS MATERIALIZED (
    SELECT s.id, s.line, s.slots, s.state AS source, s.attempt, given.*, greatest(tenure.now(), s.updated_at) AS at,
           CASE WHEN given.ending = 'succeeded'                                             THEN 'succeeded'
                WHEN given.ending = 'unrecoverable'                                         THEN 'failed'
                WHEN s.state = 'cancelling'                                                 THEN 'cancelled'
                WHEN given.ending = 'recoverable' AND s.attempt < s.max_attempts            THEN 'retrying'
                WHEN given.ending = 'suspended' AND s.suspensions < :most_suspensions::integer THEN 'suspended'
                ELSE 'failed'
           END::tenure.state AS target
      FROM given
      JOIN tenure.job_state s ON s.id = given.job AND s.lease = given.fence
     WHERE given.fence IN (SELECT id FROM held)
       AND (given.ending <> 'stopped' OR s.state = 'cancelling')
     ORDER BY s.id
       FOR UPDATE OF s
),
settled AS (
    UPDATE tenure.job_state s
       SET state       = d.target,
           lease       = NULL,
           slots       = NULL,
           n           = s.n + 1,
           mark        = greatest(tenure.mark(), s.mark),
           attempt     = s.attempt - CASE WHEN d.target = 'suspended' THEN 1 ELSE 0 END,
           suspensions = s.suspensions + CASE WHEN d.target = 'suspended' THEN 1 ELSE 0 END,
           failures    = s.failures + CASE WHEN d.target IN ('retrying', 'failed') THEN 1 ELSE 0 END,
           has_result  = d.target = 'succeeded' AND d.result <> 'null',
           due_at      = CASE WHEN d.target IN ('retrying', 'suspended') THEN tenure.now() + d.after END,
           finished_at = CASE WHEN d.target NOT IN ('retrying', 'suspended') THEN d.at END,
           updated_at  = d.at
      FROM decided d
     WHERE s.id = d.id AND s.lease = d.fence
    RETURNING s.id, s.line, d.at, s.n, s.mark, s.state, s.fence, s.started_at, s.due_at, s.has_result, d.source,
              d.attempt, d.ending, d.result, d.error, d.cpu_ms, d.peak_bytes, d.exit_code, d.signal, d.place
),
recorded AS (
    INSERT INTO tenure.event (job, n, type, source, target, attempt, fence, at, actor, mark)
    SELECT id, n, state::text, source, state, attempt, fence, at, :worker::text, mark FROM settled
),
ended AS (
    INSERT INTO tenure.attempt (
        job, fence, number, worker, started_at, ended_at, ending, error, cpu_ms, peak_bytes, exit_code, signal)
    SELECT id, fence, attempt, :worker::text, started_at, at, ending, error, cpu_ms, peak_bytes, exit_code, signal
      FROM settled
),
answered AS (
    INSERT INTO tenure.result (job, body)
    SELECT id, result FROM settled WHERE has_result
),
timed AS (
    INSERT INTO tenure.timer (due_at, job, kind)
    SELECT due_at, id, CASE WHEN state = 'retrying' THEN 'retry' ELSE 'resume' END
      FROM settled WHERE state IN ('retrying', 'suspended')
),
shelved AS (
    INSERT INTO tenure.finished (state, job, at, fingerprint)
    SELECT state, id, at,
           CASE WHEN state = 'failed'
                THEN (SELECT definition FROM tenure.line WHERE line.id = settled.line) || ':'
                     || coalesce(error::json ->> 'fingerprint', '000000000000')
           END
      FROM settled WHERE state IN ('failed', 'cancelled')
),
-- only: end
-- only: limits, sparse, named
-- Slots for what is to be claimed: those that settled jobs give back, and where these are too few, free ones of the
-- limits which the lines on offer stand under. Those above a limit's size are left from when it was larger. While jobs
-- still hold some of them, as many of the lowest free ones are on offer as bring the total up to the size; no claim goes
-- past these, not even where another one has locked one, so that claims of one moment share them.
given_back AS MATERIALIZED (
    SELECT unnest(line.limits) AS limited, unnest(string_to_array(decided.slots, ' ')::smallint[]) AS n
      FROM decided
     CROSS JOIN LATERAL (SELECT limits FROM tenure.line WHERE line.id = decided.line LIMIT 1) line
     WHERE decided.slots IS NOT NULL
),
-- Limits and what is given back under them are put together by sorting, and further down found by their number in an
-- object: there may be as many of each as the turn has jobs, and all would be compared with all.
-- only: end
-- only: limits, named
wanted AS MATERIALIZED (
    SELECT limited AS id, coalesce(array_agg(n) FILTER (WHERE n IS NOT NULL), '{}') AS given_back
      FROM (SELECT unnest(:limits::integer[]) AS limited, NULL::smallint AS n
             UNION ALL
            SELECT limited, n FROM given_back) known
     GROUP BY limited
    HAVING bool_or(n IS NULL)
),
-- only: end
-- only: sparse
-- Where fewer jobs wait than there is room for, no more slots are locked than there are jobs.
waiting AS MATERIALIZED (
    SELECT need.limited, here.n
      FROM unnest(:lines::integer[], :ranks::smallint[], :after_seqs::bigint[]) AS place (line, rank, after)
     CROSS JOIN LATERAL (SELECT limits FROM tenure.line WHERE line.id = place.line LIMIT 1) line
     CROSS JOIN LATERAL (SELECT count(*) AS n
                           FROM (SELECT FROM tenure.ready r
                                  WHERE r.line = place.line AND r.rank = place.rank AND r.seq > place.after
                                  ORDER BY r.line, r.rank, r.seq LIMIT :limit::integer) job) here
     CROSS JOIN LATERAL unnest(line.limits) AS need (limited)
),
wanted AS MATERIALIZED (
    SELECT limited AS id, coalesce(array_agg(n) FILTER (WHERE n IS NOT NULL), '{}') AS given_back,
           least(sum(jobs), :limit::integer) AS jobs
      FROM (SELECT unnest(:limits::integer[]) AS limited, NULL::smallint AS n, 0 AS jobs
             UNION ALL
            SELECT limited, n, 0 FROM given_back
             UNION ALL
            SELECT limited, NULL, n FROM waiting) known
     GROUP BY limited
    HAVING bool_or(n IS NULL)
),
-- only: end
-- only: limits, sparse, named
offered AS MATERIALIZED (
    SELECT jsonb_object_agg(wanted.id, to_jsonb(
               ARRAY(SELECT n FROM unnest(wanted.given_back) AS n WHERE n <= highest.n)
               || ARRAY(SELECT slot.n FROM tenure.slot
                         WHERE slot.limited = wanted.id AND slot.n <= highest.n AND NOT slot.is_held
                         ORDER BY slot.n
-- only: end
-- only: limits, named
                         LIMIT greatest(0, :limit::integer
-- only: end
-- only: sparse
                         LIMIT greatest(0, wanted.jobs
-- only: end
-- only: limits, sparse, named
                                           - (SELECT count(*) FROM unnest(wanted.given_back) AS n
                                               WHERE n <= highest.n))
                           FOR UPDATE SKIP LOCKED))) AS slots
      FROM wanted
     CROSS JOIN LATERAL (SELECT name FROM tenure.limited WHERE limited.id = wanted.id LIMIT 1) limited
     CROSS JOIN LATERAL (SELECT size FROM tenure.limit_size WHERE limit_size.name = limited.name LIMIT 1) limit_size
     CROSS JOIN LATERAL (
               SELECT CASE WHEN EXISTS (SELECT FROM tenure.slot
                                         WHERE slot.limited = wanted.id AND slot.n > size AND slot.is_held)
                           THEN (SELECT max(n)
                                   FROM (SELECT n FROM tenure.slot
                                          WHERE slot.limited = wanted.id AND n <= size
                                            AND (NOT is_held OR n = ANY (wanted.given_back))
                                          ORDER BY n
                                          LIMIT greatest(0, size
                                            - (SELECT count(*) FROM tenure.slot WHERE limited = wanted.id AND is_held)
                                            + cardinality(wanted.given_back))) free)
                           ELSE size
                      END AS n
               OFFSET 0
           ) highest
),
-- only: end
-- only: passing
-- What may pass on: the slots of jobs under the limits which the lines on offer stand under. None while jobs still hold
-- slots above a limit's size, from when it was larger. LIMIT keeps this a look-up by id: there may be many lines.
alike AS MATERIALIZED (
    SELECT array_agg(asked.id) AS lines
      FROM (SELECT line AS id FROM decided UNION SELECT unnest(:lines::integer[])) asked
     CROSS JOIN LATERAL (SELECT limits FROM tenure.line WHERE line.id = asked.id LIMIT 1) line
     WHERE line.limits = :limits::integer[]
       AND NOT EXISTS (SELECT FROM unnest(:limits::integer[]) AS wanted (id)
                         JOIN tenure.limited ON limited.id = wanted.id
                         JOIN tenure.limit_size USING (name)
                         JOIN tenure.slot ON slot.limited = wanted.id AND slot.n > size AND slot.is_held)
),
given_back AS MATERIALIZED (
    SELECT coalesce(array_agg(slots), '{}') AS slots
      FROM decided
     WHERE slots IS NOT NULL AND line = ANY ((SELECT lines FROM alike)::integer[])
),
-- only: end
-- The limit reads `settled`, so that settling, which may wait for locks, is over before claiming takes any.
-- Places come in the order in which they are to be served; whatever is locked belongs to another claim. That a job is of the
-- place it was found at is said once more for the planner: it takes a limit, which it cannot know, for a tenth of all
-- that stand in line, and would read all jobs there are instead of looking up a few.
picked AS MATERIALIZED (
    SELECT next.*, place.turn
      FROM unnest(:lines::integer[], :ranks::smallint[], :after_seqs::bigint[])
           WITH ORDINALITY AS place (line, rank, after, turn)
-- only: limits, sparse, named
     CROSS JOIN LATERAL (SELECT limits FROM tenure.line WHERE line.id = place.line LIMIT 1) under
-- only: end
      JOIN LATERAL (
               SELECT r.ctid AS tid, r.line, r.rank, r.seq, r.job, s.state, greatest(tenure.now(), s.updated_at) AS at
-- only: limits, sparse, named
                      , under.limits
-- only: end
                 FROM tenure.ready r
                 JOIN tenure.job_state s ON s.id = r.job
                WHERE r.line = place.line AND r.rank = place.rank AND r.seq > place.after
-- only: passing
                  AND place.line = ANY ((SELECT lines FROM alike)::integer[])
-- only: end
-- only: named
                  AND r.seq = place.after + 1
-- only: end
                ORDER BY r.line, r.rank, r.seq
                LIMIT least(:limit::integer
-- only: limits, sparse, named
                           , (SELECT min(coalesce(jsonb_array_length((SELECT slots FROM offered) -> limited::text), 0))
                                FROM unnest(under.limits) AS need (limited))
-- only: end
                           )
                  FOR UPDATE OF r, s SKIP LOCKED
           ) next ON next.line = place.line AND next.rank = place.rank
     LIMIT least(:limit::integer
-- only: passing
                , (SELECT cardinality(slots) FROM given_back)
-- only: end
                )
-- only: settling, limits, sparse, passing, named
           + 0 * (SELECT count(*) FROM settled)
-- only: end
),
-- only: limits, sparse, named
-- Each picked job is numbered under each of its limits, in the order of serving, and gets the slot of that number. One
-- that misses a single slot stays in line.
granted AS MATERIALIZED (
    SELECT job, string_agg(n, ' ' ORDER BY place) AS slots
      FROM (SELECT picked.job, need.place,
                   (SELECT slots FROM offered) -> limited::text
                   ->> (row_number() OVER (PARTITION BY limited ORDER BY picked.turn, picked.seq) - 1)::integer AS n
              FROM picked
             CROSS JOIN unnest(picked.limits) WITH ORDINALITY AS need (limited, place)
             WHERE picked.state = 'queued') needed
     GROUP BY job
    HAVING bool_and(n IS NOT NULL)
),
-- only: end
taken AS MATERIALIZED (
    SELECT picked.*
-- only: limits, sparse, named
           , granted.slots
-- only: end
-- only: passing
           , (SELECT slots FROM given_back)[row_number() OVER ()] AS slots
-- only: end
      FROM picked
-- only: limits, sparse, named
      LEFT JOIN granted USING (job)
-- only: end
     WHERE picked.state = 'queued'
-- only: limits, sparse, named
       AND (picked.limits = '{}' OR granted.slots IS NOT NULL)
-- only: end
),
-- only: passing
freed AS (
    UPDATE tenure.slot SET is_held = false
      FROM (SELECT unnest(line.limits) AS limited, unnest(string_to_array(decided.slots, ' ')::smallint[]) AS n
              FROM decided
             CROSS JOIN LATERAL (SELECT limits FROM tenure.line WHERE line.id = decided.line LIMIT 1) line
             WHERE decided.slots IS NOT NULL
               AND NOT (decided.line = ANY ((SELECT lines FROM alike)::integer[])
                        AND decided.slots IN (SELECT slots FROM taken))) held
     WHERE slot.limited = held.limited AND slot.n = held.n
),
-- only: end
-- only: limits, sparse, named
-- A slot that goes from a job that ends to one that begins stays as it is: only the difference is written.
changed AS (
    UPDATE tenure.slot SET is_held = NOT is_held
      FROM (SELECT limited, n
              FROM (SELECT unnest(limits) AS limited, unnest(string_to_array(slots, ' ')::smallint[]) AS n
                      FROM taken) needed
              FULL JOIN given_back USING (limited, n)
             WHERE needed.n IS NULL OR given_back.n IS NULL) difference
     WHERE slot.limited = difference.limited AND slot.n = difference.n
),
-- only: end
out_of_line AS (
    DELETE FROM tenure.ready
     WHERE ctid = ANY (ARRAY(SELECT tid FROM taken UNION ALL SELECT tid FROM picked WHERE state <> 'queued'))
),
leased AS MATERIALIZED (
    INSERT INTO tenure.lease (owner, expires_at, heartbeat_at, jobs)
    SELECT :worker::text, tenure.now() + :lease_for::interval, tenure.now(), array_agg(job)
      FROM taken
    HAVING count(*) > 0
    RETURNING id
),
started AS (
    UPDATE tenure.job_state s
       SET state      = 'running',
           lease      = leased.id,
           fence      = leased.id,
-- only: limits, sparse, passing, named
           slots      = taken.slots,
-- only: end
           n          = s.n + 1,
           mark       = greatest(tenure.mark(), s.mark),
           attempt    = s.attempt + 1,
           progress   = CASE WHEN s.suspensions > 0 THEN s.progress END,
           started_at = taken.at,
           updated_at = taken.at
      FROM taken, leased
     WHERE s.id = taken.job
    RETURNING s.id, taken.at, s.n, s.mark, s.fence, s.attempt, s.queued_at, s.started_at, taken.line, taken.rank,
              taken.seq
),
announced AS (
    INSERT INTO tenure.event (job, n, type, source, target, attempt, fence, at, actor, mark)
    SELECT id, n, 'started', 'queued', 'running', attempt, fence, at, :worker::text, mark FROM started
),
tallied AS (
    INSERT INTO tenure.tally (line, state, n)
    SELECT line, step.state, sum(step.n)
      FROM (
-- only: settling, limits, sparse, passing, named
            SELECT line, source, state AS target FROM settled
             UNION ALL
-- only: end
            SELECT line, 'queued'::tenure.state AS source, 'running'::tenure.state AS target FROM started) stepped
     CROSS JOIN LATERAL (VALUES (source, -1), (target, 1)) AS step (state, n)
     GROUP BY line, step.state
    HAVING sum(step.n) <> 0
)
-- What was settled by the reports' places in the call, which is shorter than naming each; then what was claimed.
-- only: settling, limits, sparse, passing, named
SELECT NULL::uuid AS job, NULL::bigint AS fence, NULL::smallint AS attempt, NULL::timestamptz AS queued_at,
       NULL::timestamptz AS started_at, NULL::text AS namespace, NULL::text AS params, NULL::text AS traceparent,
       NULL::smallint AS max_attempts, NULL::text AS on_lost, NULL::integer AS timeout_ms, NULL::integer AS grace_ms,
       NULL::integer AS backoff_base_ms, NULL::integer AS backoff_cap_ms, NULL::text AS retry_on, NULL::text AS fatal_on,
       line, NULL::smallint AS rank, NULL::bigint AS seq, state, array_agg(place) AS places
  FROM settled
 GROUP BY line, state
 UNION ALL
-- only: end
SELECT started.id, fence, attempt, queued_at, started_at, namespace, params, traceparent, max_attempts, on_lost,
       timeout_ms, grace_ms, backoff_base_ms, backoff_cap_ms, retry_on, fatal_on, started.line, rank, seq, NULL, NULL
  FROM started
 -- LIMIT keeps this a look-up: PostgreSQL 13 would merge a few jobs with all that there are.
 CROSS JOIN LATERAL (SELECT * FROM tenure.job WHERE job.id = started.id LIMIT 1) job;

-- part: told
-- The same for a turn that settles nothing and claims at the one place that a hint has named: what a job waits for that
-- comes to an idle worker. Nothing has checked whether the line is the one it was, and not paused: that is seen to here.
WITH
picked AS MATERIALIZED (
    SELECT r.ctid AS tid, r.seq, r.job, s.state, greatest(tenure.now(), s.updated_at) AS at
      FROM tenure.ready r
      JOIN tenure.job_state s ON s.id = r.job
     WHERE r.line = :line::integer AND r.rank = :rank::smallint
       AND EXISTS (SELECT FROM tenure.line
                    WHERE line.id = :line::integer AND line.queue = :queue::text AND line.definition = :definition::text
                      AND line.version = :version::integer AND line.limits = '{}')
       AND NOT EXISTS (SELECT FROM tenure.pause
                        WHERE pause.queue IN ('', :queue::text) AND pause.definition IN ('', :definition::text)
                          AND pause.version IN (0, :version::integer)
                          AND (pause.until IS NULL OR pause.until > tenure.now()))
     ORDER BY r.line, r.rank, r.seq
     LIMIT :limit::integer
       FOR UPDATE OF r, s SKIP LOCKED
),
taken AS MATERIALIZED (
    SELECT * FROM picked WHERE state = 'queued'
),
out_of_line AS (
    DELETE FROM tenure.ready WHERE ctid = ANY (ARRAY(SELECT tid FROM picked))
),
leased AS MATERIALIZED (
    INSERT INTO tenure.lease (owner, expires_at, heartbeat_at, jobs)
    SELECT :worker::text, tenure.now() + :lease_for::interval, tenure.now(), array_agg(job)
      FROM taken
    HAVING count(*) > 0
    RETURNING id
),
started AS (
    UPDATE tenure.job_state s
       SET state      = 'running',
           lease      = leased.id,
           fence      = leased.id,
           n          = s.n + 1,
           mark       = greatest(tenure.mark(), s.mark),
           attempt    = s.attempt + 1,
           progress   = CASE WHEN s.suspensions > 0 THEN s.progress END,
           started_at = taken.at,
           updated_at = taken.at
      FROM taken, leased
     WHERE s.id = taken.job
    RETURNING s.id, taken.at, s.n, s.mark, s.fence, s.attempt, s.queued_at, s.started_at, taken.seq
),
announced AS (
    INSERT INTO tenure.event (job, n, type, source, target, attempt, fence, at, actor, mark)
    SELECT id, n, 'started', 'queued', 'running', attempt, fence, at, :worker::text, mark FROM started
),
tallied AS (
    INSERT INTO tenure.tally (line, state, n)
    SELECT :line::integer, step.state, step.n * begun.n
      FROM (SELECT count(*) AS n FROM started HAVING count(*) > 0) begun
     CROSS JOIN (VALUES ('queued'::tenure.state, -1), ('running', 1)) AS step (state, n)
)
SELECT started.id, fence, attempt, queued_at, started_at, namespace, params, traceparent, max_attempts, on_lost,
       timeout_ms, grace_ms, backoff_base_ms, backoff_cap_ms, retry_on, fatal_on, :line::integer AS line,
       :rank::smallint AS rank, seq
  FROM started
 CROSS JOIN LATERAL (SELECT * FROM tenure.job WHERE job.id = started.id LIMIT 1) job;

-- part: places
-- Where jobs stand in the lines a worker serves: every (line, rank) that is not empty, unless it is paused, the number
-- of its first job and, where ranks differ, for how long that one has waited. Hops from one rank to the next and from
-- one line to the next, so that a long line costs no more than a short one, and one that is empty nothing; what was
-- claimed long ago and cannot be cleaned up is walked through once. Of a line with very many ranks these are those in
-- front, and a few further ones behind where the last look-up has ended, for the claims that go by age. A look-up that
-- reached the most lines it may look at ends with a row that says where.
WITH RECURSIVE
open AS MATERIALIZED (
    SELECT *
      FROM unnest(:queues::text[], :definitions::text[], :versions::integer[]) AS line (queue, definition, version)
     WHERE NOT EXISTS (SELECT FROM tenure.pause
                        WHERE pause.queue IN ('', line.queue) AND pause.definition IN ('', line.definition)
                          AND pause.version IN (0, line.version)
                          AND (pause.until IS NULL OR pause.until > tenure.now()))
),
-- `n` counts the ranks of a line, `lines` the lines. Most lines have one rank, so that a hop finds the next place by one
-- look-up, whichever line it is in. Whether a line is served is asked at its second rank, and of all lines at once below.
-- No rank is behind 32767: from there a hop leads to the next line. LIMIT keeps the line a look-up, and IS TRUE the next
-- one in a hash: planned while there are few lines, both would compare all with all.
hops (line, rank, seq, job, n, lines, is_other) AS (
    (SELECT line, rank, seq, job, 1, 1, false FROM tenure.ready WHERE line > :after_line::integer
      ORDER BY line, rank, seq LIMIT 1)
    UNION ALL
    SELECT next.line, next.rank, next.seq, next.job, CASE WHEN next.line = hops.line THEN hops.n + 1 ELSE 1 END,
           CASE WHEN next.line = hops.line THEN hops.lines ELSE hops.lines + 1 END,
           next.line = hops.line
           AND NOT (SELECT ((line.queue, line.definition, line.version)
                            IN (SELECT queue, definition, version FROM open)) IS TRUE
                      FROM tenure.line WHERE line.id = next.line LIMIT 1)
      FROM hops
     CROSS JOIN LATERAL (SELECT ready.line, ready.rank, ready.seq, ready.job FROM tenure.ready
                          WHERE (ready.line, ready.rank)
                                > (hops.line, CASE WHEN hops.is_other THEN 32767::smallint
                                                   WHEN hops.n < :front::integer THEN hops.rank
                                                   WHEN hops.n = :front::integer
                                                   THEN greatest(hops.rank, (:walked_ranks::smallint[])[
                                                            array_position(:walked_lines::integer[], hops.line)])
                                                   WHEN hops.n < :front::integer + :further::integer THEN hops.rank
                                                   ELSE 32767::smallint
                                              END)
                          ORDER BY ready.line, ready.rank, ready.seq LIMIT 1) next
     WHERE next.line = hops.line OR hops.lines < :most::integer
),
reached AS MATERIALIZED (
    SELECT * FROM hops
),
standing AS MATERIALIZED (
    SELECT reached.line, line.queue, line.definition, line.version, line.limits, reached.rank, reached.seq, reached.job,
           reached.n
      FROM reached
     CROSS JOIN LATERAL (SELECT * FROM tenure.line WHERE line.id = reached.line LIMIT 1) line
     WHERE ((line.queue, line.definition, line.version) IN (SELECT queue, definition, version FROM open)) IS TRUE
),
-- Slots that are held, by the jobs that run where these are fewer than limits: most limits have none.
wanted AS MATERIALIZED (
    SELECT DISTINCT unnest(limits) AS id FROM standing WHERE n = 1
),
held AS MATERIALIZED (
    SELECT part.limited, part.n
      FROM tenure.lease
     CROSS JOIN LATERAL unnest(lease.jobs) AS member (job)
     CROSS JOIN LATERAL (SELECT line, slots FROM tenure.job_state
                          WHERE job_state.id = member.job AND job_state.lease = lease.id AND slots IS NOT NULL LIMIT 1) s
     CROSS JOIN LATERAL (SELECT limits FROM tenure.line WHERE line.id = s.line LIMIT 1) line
     CROSS JOIN LATERAL unnest(line.limits, string_to_array(s.slots, ' ')::smallint[]) AS part (limited, n)
     WHERE (SELECT coalesce(sum(cardinality(jobs)), 0) FROM tenure.lease) < (SELECT count(*) FROM wanted)
     UNION ALL
    SELECT slot.limited, slot.n
      FROM wanted
     CROSS JOIN LATERAL (SELECT limited, n FROM tenure.slot
                          WHERE slot.limited = wanted.id AND slot.is_held OFFSET 0) slot
     WHERE (SELECT coalesce(sum(cardinality(jobs)), 0) FROM tenure.lease) >= (SELECT count(*) FROM wanted)
),
-- The sizes of limits, each with the limits that have it, and the slots that are held: who asks takes the one from the
-- other. Limits of one name have one size. Where most limits between the first and the last are wanted, they are read in
-- a row, with a few that are not: to look up ten thousand one by one costs a fifth of the whole.
span AS MATERIALIZED (
    SELECT min(id) AS first, max(id) AS last, max(id) - min(id) < 4 * count(*) AS is_dense FROM wanted
),
named AS MATERIALIZED (
    SELECT name, array_agg(id) AS ids
      FROM (SELECT limited.name, wanted.id
              FROM wanted
             CROSS JOIN LATERAL (SELECT name FROM tenure.limited WHERE limited.id = wanted.id LIMIT 1) limited
             WHERE NOT (SELECT is_dense FROM span)
             UNION ALL
            SELECT name, id FROM tenure.limited
             WHERE id BETWEEN (SELECT first FROM span WHERE is_dense) AND (SELECT last FROM span WHERE is_dense)) known
     GROUP BY name
),
room AS MATERIALIZED (
    SELECT json_build_array(
               coalesce((SELECT json_agg(json_build_array(size, ids))
                           FROM named
                          CROSS JOIN LATERAL (SELECT size FROM tenure.limit_size
                                               WHERE limit_size.name = named.name LIMIT 1) limit_size), '[]'),
               coalesce((SELECT json_agg(json_build_array(limited, n)) FROM held), '[]'))::text AS slots
)
SELECT line, queue, definition, version, rank, seq, limits, n,
       CASE WHEN (SELECT min(rank) < max(rank) FROM standing)
            THEN (SELECT tenure.now() - s.queued_at FROM tenure.job_state s WHERE s.id = standing.job)
       END AS waited, NULL AS room
  FROM standing
 UNION ALL
-- Last, the room under limits and, if there may be more lines, where these begin.
SELECT (SELECT max(line) FROM reached HAVING max(lines) = :most::integer), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
       (SELECT slots FROM room);
