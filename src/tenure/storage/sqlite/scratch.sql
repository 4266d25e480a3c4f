-- What a verb works with while it runs: temporary tables of the writing connection, in memory, never on disk.
-- `given` is what the caller brought (`place`: which of it), `moving` the jobs that the verb found and where it has decided to move them.
-- They are always the outer side of a join (CROSS JOIN keeps SQLite from turning it round): they are as small
-- as the call, the tables behind them as large as history.
CREATE TEMP TABLE given (
    job, fence, place, ending, result, error, after, killed, progress, cpu_ms, peak_bytes, exit_code, signal,
    lines, notes, PRIMARY KEY (job, fence)
) WITHOUT ROWID;
CREATE TEMP TABLE moving (
    position INTEGER PRIMARY KEY, id, line, source, target, n, attempt, fence, seq, due_at, started_at, worker, ending,
    result, error, place, cpu_ms, peak_bytes, exit_code, signal, kind, to_at
);
CREATE TEMP TABLE telling (position INTEGER PRIMARY KEY, job, fence, state, attempt, actor, n, lines, notes, asked, taken);
CREATE TEMP TABLE stepping (
    place INTEGER PRIMARY KEY, job, fence, name, kind, status, call, body, size, state, attempt, notes, was, was_fence, had,
    verdict, steps, bytes
);
CREATE TEMP TABLE suspending (
    job PRIMARY KEY, fence, kind, step, signal, timeout, cpu_ms, peak_bytes, exit_code, exit_signal, was, until_at
) WITHOUT ROWID;
CREATE TEMP TABLE replaying (position INTEGER PRIMARY KEY, job, state, replay, fresh);
CREATE TEMP TABLE pruning (id PRIMARY KEY, line, state, is_over, is_found, lines) WITHOUT ROWID;
CREATE TEMP TABLE keeping (definition PRIMARY KEY, succeeded, others, keyed, logs) WITHOUT ROWID;
CREATE TEMP TABLE place (position INTEGER PRIMARY KEY, line, rank, limits, most);
-- The lines that a claim may take from, without those that are paused, kept from one claim to the next: there may be ten
-- thousand. `scope` says whose these are and which pauses held.
CREATE TEMP TABLE served (
    queue TEXT, definition TEXT, version INTEGER, PRIMARY KEY (queue, definition, version)
) WITHOUT ROWID;
CREATE TEMP TABLE scope (is_only INTEGER PRIMARY KEY, lines, pauses, is_new);
CREATE TEMP TRIGGER outdate AFTER INSERT ON scope
BEGIN
    DELETE FROM served;
END;
CREATE TEMP TABLE walked (line PRIMARY KEY, rank) WITHOUT ROWID;
-- Where jobs stand when there are very many lines, kept from one claim to the next: `n` is the how manieth rank of its line a
-- walk found there, `served` the claim that last took jobs from it, `since` when its first job was queued, once that was
-- asked for. `known` says whose lines these are and up to which transaction. A transaction that is rolled back takes
-- back what it has changed here.
CREATE TEMP TABLE standing (line, rank, served, since, limits, n, PRIMARY KEY (line, rank)) WITHOUT ROWID;
CREATE INDEX temp.standing_in_turn ON standing (rank, served, line);
CREATE TEMP TABLE known (is_only INTEGER PRIMARY KEY, lines, place, mark, horizon);
CREATE TEMP TABLE picked (position INTEGER PRIMARY KEY, line, rank, seq, job, n, attempt, queued_at);

-- One place after the other, each takes what the call still lacks and its limits still have room for; so no job is
-- counted twice, however the limits of several places overlap. A job that is no longer `queued`, since a person with a
-- shell has moved it, is passed over: where one stands in front, all like it leave the place.
CREATE TEMP TRIGGER pick AFTER INSERT ON place WHEN NEW.most > (SELECT coalesce(max(position), 0) FROM picked)
BEGIN
    DELETE FROM tenure_ready
     WHERE (line, rank, seq) IN (
               SELECT line, rank, seq
                 FROM tenure_ready
                WHERE line = NEW.line AND rank = NEW.rank
                  AND NOT EXISTS (SELECT 1 FROM tenure_job_state s WHERE s.id = job AND s.state = 'queued')
                LIMIT iif((SELECT s.state
                             FROM tenure_ready front
                             LEFT JOIN tenure_job_state s ON s.id = front.job
                            WHERE front.line = NEW.line AND front.rank = NEW.rank
                            ORDER BY front.seq LIMIT 1) IS 'queued', 0, -1));

    INSERT INTO picked (line, rank, seq, job, n, attempt, queued_at)
    SELECT ready.line, ready.rank, ready.seq, ready.job, s.n, s.attempt, s.queued_at
      FROM tenure_ready ready
     CROSS JOIN tenure_job_state s ON s.id = ready.job
     WHERE ready.line = NEW.line AND ready.rank = NEW.rank AND s.state = 'queued'
     ORDER BY ready.seq
     LIMIT min(NEW.most - (SELECT coalesce(max(position), 0) FROM picked),
               coalesce((SELECT max(0, min(size - held))
                           FROM json_each(NEW.limits) part
                           JOIN tenure_limited limited ON limited.id = part.value
                           JOIN tenure_limit_size USING (name)), NEW.most));

    UPDATE tenure_limited SET held = held + changes()
     WHERE NEW.limits <> '[]' AND id IN (SELECT value FROM json_each(NEW.limits));
END;

-- What the steps of a call change in the totals of lines.
CREATE TEMP VIEW change AS
SELECT line, source AS state, -count(*) AS n FROM moving WHERE target IS NOT NULL GROUP BY line, source
 UNION ALL
SELECT line, target, count(*) FROM moving WHERE target IS NOT NULL GROUP BY line, target
 UNION ALL
SELECT line, 'queued', -count(*) FROM picked GROUP BY line
 UNION ALL
SELECT line, 'running', count(*) FROM picked GROUP BY line;

-- Jobs that end otherwise than well. What a dead letter died of is what its last attempt has on record.
CREATE TEMP VIEW ending AS
SELECT target AS state, id AS job,
       CASE WHEN target IN ('failed', 'buried')
            THEN (SELECT definition FROM tenure_line line WHERE line.id = moving.line) || ':'
                 || coalesce((SELECT attempt.error ->> 'fingerprint' FROM tenure_attempt attempt
                               WHERE attempt.job = moving.id ORDER BY attempt.fence DESC LIMIT 1), '000000000000')
       END AS fingerprint
  FROM moving
 WHERE target IN ('failed', 'cancelled', 'buried');

-- What attempts that end leave free under limits; those of jobs that were put aside have done so already.
CREATE TEMP VIEW freed AS
SELECT part.value AS limited, count(*) AS n
  FROM moving
 CROSS JOIN tenure_line line ON line.id = moving.line
 CROSS JOIN json_each(line.limits) part
 WHERE line.limits <> '[]'
   AND NOT EXISTS (SELECT 1 FROM tenure_aside aside WHERE aside.job = moving.id)
 GROUP BY part.value;
