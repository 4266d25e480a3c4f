-- One turn of a worker, in one transaction: record how attempts ended, then claim the next jobs.

-- part: given
INSERT INTO temp.given (place, job, fence, ending, result, error, after, cpu_ms, peak_bytes, exit_code, signal)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- part: decided
-- Late is late: a lease that has run out settles nothing, even before the reaper comes.
INSERT INTO temp.moving (
    place, id, line, source, fence, n, attempt, started_at, ending, result, error, due_at, cpu_ms, peak_bytes, exit_code,
    signal, target)
SELECT place, s.id, s.line, s.state, s.fence, s.n, s.attempt, s.started_at, given.ending, given.result, given.error,
       :now + given.after, given.cpu_ms, given.peak_bytes, given.exit_code, given.signal,
       CASE WHEN given.ending = 'succeeded'                                          THEN 'succeeded'
            WHEN given.ending = 'unrecoverable'                                      THEN 'failed'
            WHEN s.state = 'cancelling'                                              THEN 'cancelled'
            WHEN given.ending = 'recoverable' AND s.attempt < s.max_attempts         THEN 'retrying'
            WHEN given.ending = 'suspended' AND s.suspensions < :most_suspensions    THEN 'suspended'
            ELSE 'failed'
       END
  FROM temp.given
 CROSS JOIN tenure_lease lease ON lease.id = given.fence AND lease.owner = :worker AND lease.expires_at > :now
 CROSS JOIN tenure_job_state s ON s.id = given.job AND s.lease = given.fence
 WHERE given.ending <> 'stopped' OR s.state = 'cancelling';

-- part: settled
UPDATE tenure_job_state AS s
   SET state       = m.target,
       lease       = NULL,
       n           = s.n + 1,
       attempt     = s.attempt - (m.target = 'suspended'),
       suspensions = s.suspensions + (m.target = 'suspended'),
       failures    = s.failures + (m.target IN ('retrying', 'failed')),
       has_result  = m.target = 'succeeded' AND m.result <> 'null',
       due_at      = CASE WHEN m.target IN ('retrying', 'suspended') THEN m.due_at END,
       finished_at = CASE WHEN m.target NOT IN ('retrying', 'suspended') THEN :now END,
       updated_at  = :now
  FROM temp.moving m
 WHERE s.id = m.id;

-- part: recorded
INSERT INTO tenure_event (job, n, type, source, target, attempt, fence, at, actor, mark)
SELECT id, n + 1, target, source, target, attempt, fence, :now, :worker, :mark FROM temp.moving;

-- part: ended
INSERT INTO tenure_attempt (
    job, fence, number, worker, started_at, ended_at, ending, error, cpu_ms, peak_bytes, exit_code, signal)
SELECT id, fence, attempt, :worker, started_at, :now, ending, error, cpu_ms, peak_bytes, exit_code, signal
  FROM temp.moving;

-- part: answered
INSERT INTO tenure_result (job, body)
SELECT id, result FROM temp.moving WHERE target = 'succeeded' AND result <> 'null';

-- part: timed
INSERT INTO tenure_timer (due_at, job, kind)
SELECT due_at, id, CASE WHEN target = 'retrying' THEN 'retry' ELSE 'resume' END
  FROM temp.moving WHERE target IN ('retrying', 'suspended');

-- part: shelved
INSERT INTO tenure_finished (state, job, at, fingerprint) SELECT state, job, :now, fingerprint FROM temp.ending;

-- part: freed
UPDATE tenure_limited SET held = held - freed.n FROM temp.freed WHERE id = freed.limited;

-- part: scope
-- Which lines are served, and which pauses hold. Only where that has changed since the last claim are the lines read.
INSERT OR REPLACE INTO temp.scope (is_only, lines, pauses, is_new)
SELECT 1, :scope, held.pauses, 1
  FROM (SELECT json_group_array(json_array(queue, definition, version)) AS pauses
          FROM tenure_pause WHERE until IS NULL OR until > :now) held
 WHERE :limit > 0
   AND NOT EXISTS (SELECT 1 FROM temp.scope WHERE scope.lines = :scope AND scope.pauses = held.pauses);

-- part: open_lines
INSERT INTO temp.served (queue, definition, version)
SELECT DISTINCT value ->> 0, value ->> 1, value ->> 2
  FROM temp.scope
 CROSS JOIN json_each(:lines) wanted
 WHERE scope.is_new
   AND NOT EXISTS (SELECT 1 FROM tenure_pause
                    WHERE queue IN ('', wanted.value ->> 0) AND definition IN ('', wanted.value ->> 1)
                      AND version IN (0, wanted.value ->> 2)
                      AND (until IS NULL OR until > :now));

-- part: opened
UPDATE temp.scope SET is_new = 0 WHERE is_new;

-- part: places
-- Where jobs stand that may be claimed, in the order to serve them: hops from one line to the next and from one rank
-- to the next, so that a long line costs no more than a short one. Lines of equal rank take turns in going first.
-- Jobs with different limits stand in different lines, so there may be many to a definition, most of them empty: a
-- few are asked one by one, many are found where jobs stand. At each rank there is a job or more, so that no claim hops
-- further than it takes jobs. One that goes by age has a step: a place stands as many ranks further in front as its
-- first job has waited steps; and it looks at a few more ranks of each line, behind where the last such claim has ended.
-- As a place is put in, `pick` takes jobs from it.
INSERT INTO temp.place (line, rank, limits, most)
WITH RECURSIVE
few (line, limits) AS MATERIALIZED (
    SELECT id, limits
      FROM temp.served CROSS JOIN tenure_line USING (queue, definition, version)
     WHERE :limit > 0
     LIMIT 100
),
filled (line) AS (
    SELECT CASE WHEN (SELECT count(*) FROM few) = 100 THEN (SELECT min(line) FROM tenure_ready) END
     UNION ALL
    SELECT (SELECT min(line) FROM tenure_ready WHERE tenure_ready.line > filled.line) FROM filled WHERE line IS NOT NULL
),
open (line, limits) AS (
    SELECT line, limits
      FROM (SELECT line, limits FROM few WHERE (SELECT count(*) FROM few) < 100
             UNION ALL
            SELECT line.id, line.limits
              FROM filled
             CROSS JOIN tenure_line line ON line.id = filled.line
             CROSS JOIN temp.served USING (queue, definition, version))
     WHERE limits = '[]' OR (SELECT min(size - held)
                               FROM json_each(limits) part
                               JOIN tenure_limited limited ON limited.id = part.value
                               JOIN tenure_limit_size USING (name)) > 0
),
hop (line, limits, rank, n) AS (
    SELECT line, limits, (SELECT min(rank) FROM tenure_ready WHERE tenure_ready.line = open.line), 1 FROM open
     UNION ALL
    SELECT line, limits, (SELECT min(rank) FROM tenure_ready
                           WHERE tenure_ready.line = hop.line
                             AND tenure_ready.rank > CASE WHEN hop.n = :limit
                                                          THEN max(hop.rank, coalesce((SELECT walked.rank FROM temp.walked
                                                                                        WHERE walked.line = hop.line),
                                                                                      hop.rank))
                                                          ELSE hop.rank
                                                     END), n + 1
      FROM hop WHERE rank IS NOT NULL AND n < CASE WHEN :step THEN :limit + :further ELSE :limit END
),
standing (line, rank, limits, moved_up) AS (
    SELECT line, rank, limits,
           CASE WHEN :step THEN rank - coalesce(max(0, :now - (SELECT s.queued_at
                                                                 FROM tenure_ready ready
                                                                CROSS JOIN tenure_job_state s ON s.id = ready.job
                                                                WHERE ready.line = hop.line AND ready.rank = hop.rank
                                                                ORDER BY ready.seq LIMIT 1)) / :step, 0)
                ELSE rank
           END
      FROM hop WHERE rank IS NOT NULL
)
SELECT line, rank, limits, :limit FROM standing
WINDOW equals AS (PARTITION BY moved_up, rank)
 ORDER BY moved_up, rank, (row_number() OVER (equals ORDER BY line) + :turn) % count(*) OVER equals;

-- part: walked
-- Where a claim that goes by age has ended in a line with more ranks; from the end of a line it begins anew.
INSERT OR REPLACE INTO temp.walked (line, rank)
SELECT line, CASE WHEN count(*) = :limit + :further THEN max(rank) END
  FROM temp.place
 WHERE :step
 GROUP BY line
HAVING count(*) = :limit + :further OR line IN (SELECT line FROM temp.walked);

-- part: out_of_line
DELETE FROM tenure_ready WHERE (line, rank, seq) IN (SELECT line, rank, seq FROM temp.picked);

-- part: fenced
UPDATE tenure_sequence SET n = n + 1 WHERE name = 'fence' AND EXISTS (SELECT 1 FROM temp.picked);

-- part: leased
INSERT INTO tenure_lease (id, owner, expires_at, heartbeat_at, jobs)
SELECT (SELECT n FROM tenure_sequence WHERE name = 'fence'), :worker, :now + :lease_for, :now, json_group_array(job)
  FROM temp.picked
HAVING count(*) > 0;

-- part: started
UPDATE tenure_job_state AS s
   SET state      = 'running',
       fence      = lease.n,
       lease      = lease.n,
       n          = s.n + 1,
       attempt    = s.attempt + 1,
       progress   = CASE WHEN s.suspensions > 0 THEN s.progress END,
       started_at = :now,
       updated_at = :now
  FROM temp.picked, tenure_sequence lease
 WHERE s.id = picked.job AND lease.name = 'fence';

-- part: announced
INSERT INTO tenure_event (job, n, type, source, target, attempt, fence, at, actor, mark)
SELECT job, picked.n + 1, 'started', 'queued', 'running', attempt + 1, lease.n, :now, :worker, :mark
  FROM tenure_sequence lease CROSS JOIN temp.picked
 WHERE lease.name = 'fence';

-- part: tallied
INSERT INTO tenure_tally (line, state, n) SELECT line, state, n FROM temp.change WHERE true
ON CONFLICT DO UPDATE SET n = n + excluded.n;

-- part: answer
-- What was settled by the reports' places in the call, which is shorter than naming each; then what was claimed.
SELECT NULL AS job, NULL AS fence, NULL AS attempt, NULL AS queued_at, NULL AS started_at, NULL AS namespace,
       NULL AS params, NULL AS traceparent, NULL AS max_attempts, NULL AS on_lost, NULL AS timeout_ms,
       NULL AS grace_ms, NULL AS backoff_base_ms, NULL AS backoff_cap_ms, NULL AS retry_on, NULL AS fatal_on,
       NULL AS queue, NULL AS definition, NULL AS version, target AS state, json_group_array(place) AS places
  FROM temp.moving
 GROUP BY target
 UNION ALL
SELECT job.id, lease.n, attempt + 1, queued_at, :now, namespace, params, traceparent, max_attempts, on_lost,
       timeout_ms, grace_ms, backoff_base_ms, backoff_cap_ms, retry_on, fatal_on, line.queue, line.definition,
       line.version, NULL, NULL
  FROM tenure_sequence lease
 CROSS JOIN temp.picked
 CROSS JOIN tenure_job job ON job.id = picked.job
 CROSS JOIN tenure_line line ON line.id = job.line
 WHERE lease.name = 'fence';

-- part: known_of
-- Whose lines are served under which pauses, where the last job was put in line, and what is known of places.
SELECT scope.lines || scope.pauses AS open, sequence.n, known.lines, known.place, known.mark, known.horizon
  FROM tenure_sequence sequence
 CROSS JOIN temp.scope
  LEFT JOIN temp.known
 WHERE sequence.name = 'place';

-- part: has_many
SELECT count(*) = :many
  FROM (SELECT 1
          FROM temp.served CROSS JOIN tenure_line USING (queue, definition, version)
         LIMIT :many);

-- part: learned
-- All places of these lines, as `places` finds them, whether or not their limits have room now. What is known already keeps
-- its turn. One look-up leads from a place to the next, whichever line that is in: the two numbers of a place are packed
-- into one, and `n` is the how manieth rank of its line `before` was. Whether a line is served is asked at its second
-- rank, and of all lines below. No rank is behind 65535: from there a hop leads to the next line.
INSERT INTO temp.standing (line, rank, served, limits, n)
WITH RECURSIVE
hop (place, before, n) AS (
    SELECT (SELECT line * 65536 + rank + 32768 FROM tenure_ready WHERE line > 0 ORDER BY line, rank LIMIT 1), 0, 0
     UNION ALL
    SELECT (SELECT line * 65536 + rank + 32768
              FROM tenure_ready ready
             WHERE (ready.line, ready.rank)
                   > (hop.place >> 16,
                      iif(hop.place >> 16 = hop.before >> 16
                          AND (hop.n + 1 >= :front
                               OR NOT EXISTS (SELECT 1
                                                FROM tenure_line line
                                               CROSS JOIN temp.served USING (queue, definition, version)
                                               WHERE line.id = hop.place >> 16)),
                          65535, (hop.place & 65535) - 32768))
             ORDER BY ready.line, ready.rank LIMIT 1),
           hop.place, iif(hop.place >> 16 = hop.before >> 16, hop.n + 1, 1)
      FROM hop WHERE hop.place IS NOT NULL
)
SELECT line.id, (hop.before & 65535) - 32768, :turn - 1, line.limits, hop.n
  FROM hop
 CROSS JOIN tenure_line line ON line.id = hop.before >> 16
 CROSS JOIN temp.served USING (queue, definition, version)
 WHERE hop.n > 0
ON CONFLICT DO UPDATE SET since = NULL, n = excluded.n;

-- part: arrived
-- Where jobs were put in line since, by whatever process: each has left a job or a step.
INSERT INTO temp.standing (line, rank, served, limits, n)
SELECT s.line, s.rank, :turn - 1, line.limits, 0
  FROM (SELECT id FROM tenure_job WHERE mark >= :seen
         UNION ALL
        SELECT job FROM tenure_event WHERE mark >= :seen AND target = 'queued') came
 CROSS JOIN tenure_job_state s ON s.id = came.id AND s.state = 'queued' AND s.seq > :place
 CROSS JOIN tenure_line line ON line.id = s.line
 CROSS JOIN temp.served USING (queue, definition, version)
 WHERE true
ON CONFLICT DO NOTHING;

-- part: known
-- Of a line with more ranks than were walked through, those behind the last of them are not known: nothing behind it, in
-- whatever line, is taken before somebody has looked.
INSERT OR REPLACE INTO temp.known (is_only, lines, place, mark, horizon)
VALUES (1, :open, :last, :mark, :horizon);

-- part: horizon
SELECT min(rank) FROM temp.standing WHERE n = :front;

-- part: aged
UPDATE temp.standing
   SET since = (SELECT s.queued_at
                  FROM tenure_ready ready
                 CROSS JOIN tenure_job_state s ON s.id = ready.job
                 WHERE ready.line = standing.line AND ready.rank = standing.rank
                 ORDER BY ready.seq LIMIT 1)
 WHERE since IS NULL;

-- part: ranks
SELECT (SELECT min(rank) FROM temp.standing) < (SELECT max(rank) FROM temp.standing);

-- part: offered
-- The next known places in the order to serve them: of equal rank those first that were served longest ago. As a place
-- is put in, `pick` takes jobs from it.
INSERT INTO temp.place (line, rank, limits, most)
SELECT line, rank, limits, :limit
  FROM (SELECT line, rank, served, limits
          FROM temp.standing
         WHERE rank <= :horizon
         ORDER BY rank, served, line LIMIT :some OFFSET :past)
 WHERE limits = '[]' OR (SELECT min(size - held)
                           FROM json_each(limits) part
                           JOIN tenure_limited limited ON limited.id = part.value
                           JOIN tenure_limit_size USING (name)) > 0
 ORDER BY rank, served, line;

-- part: offered_by_age
-- The same for a claim that goes by age.
INSERT INTO temp.place (line, rank, limits, most)
SELECT line, rank, limits, :limit
  FROM (SELECT line, rank, served, limits, rank - coalesce(max(0, :now - since) / :step, 0) AS moved_up
          FROM temp.standing
         ORDER BY moved_up, rank, served, line LIMIT :some OFFSET :past)
 WHERE limits = '[]' OR (SELECT min(size - held)
                           FROM json_each(limits) part
                           JOIN tenure_limited limited ON limited.id = part.value
                           JOIN tenure_limit_size USING (name)) > 0
 ORDER BY moved_up, rank, served, line;

-- part: reached
-- How many jobs the claim has so far, and the place that the last one is from.
SELECT max(position),
       (SELECT max(position) FROM temp.place
         WHERE (line, rank) = (SELECT line, rank FROM temp.picked ORDER BY position DESC LIMIT 1))
  FROM temp.picked;

-- part: emptied
DELETE FROM temp.standing
 WHERE (line, rank) IN (SELECT line, rank FROM temp.place WHERE position <= :reached)
   AND NOT EXISTS (SELECT 1 FROM tenure_ready ready WHERE ready.line = standing.line AND ready.rank = standing.rank);

-- part: served
UPDATE temp.standing SET served = :turn, since = NULL
 WHERE (line, rank) IN (SELECT line, rank FROM temp.place WHERE position <= :reached);
