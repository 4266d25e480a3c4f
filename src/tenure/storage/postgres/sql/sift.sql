-- Which jobs are to blame when the database refuses a batch: those that may be, locked, so that no verb moves them before the
-- guilty are found and put aside. As in the verbs themselves, rows are locked in the order of ids where certain jobs
-- are meant, and skipped where they are not.

-- part: owned
SELECT s.id AS job FROM tenure.job_state s WHERE s.id = ANY (:jobs::uuid[]) ORDER BY s.id FOR UPDATE;

-- part: standing
-- As many of each place as its limits have room for, as in the claim: others would be given the slots of those behind.
SELECT next.job, next.line, next.rank, next.seq
  FROM unnest(:lines::integer[], :ranks::smallint[], :after_seqs::bigint[]) WITH ORDINALITY
       AS place (line, rank, after, turn)
 CROSS JOIN LATERAL (SELECT limits FROM tenure.line WHERE line.id = place.line LIMIT 1) under
 CROSS JOIN LATERAL (
           SELECT r.job, r.line, r.rank, r.seq
             FROM tenure.ready r
             JOIN tenure.job_state s ON s.id = r.job
            WHERE r.line = place.line AND r.rank = place.rank AND r.seq > place.after
            ORDER BY r.line, r.rank, r.seq
            LIMIT least(:limit::integer,
                        (SELECT min(greatest(0, size - (SELECT count(*) FROM tenure.slot
                                                         WHERE slot.limited = limited.id AND slot.is_held)))
                           FROM tenure.limited JOIN tenure.limit_size USING (name)
                          WHERE limited.id = ANY (under.limits)))
              FOR UPDATE OF r, s SKIP LOCKED
       ) next
 LIMIT :limit::integer;

-- part: due
SELECT timer.job
  FROM tenure.timer
  JOIN tenure.job_state s ON s.id = timer.job
 WHERE timer.due_at <= tenure.now() AND timer.kind IN ('hold', 'scheduled', 'retry', 'resume', 'wait', 'give_up')
 ORDER BY timer.due_at, timer.job
 LIMIT :limit::integer
   FOR UPDATE OF timer, s SKIP LOCKED;

-- part: expired
WITH
expired AS MATERIALIZED (
    SELECT id, owner, jobs
      FROM tenure.lease
     WHERE expires_at <= tenure.now()
     ORDER BY id
     LIMIT :limit::integer
       FOR UPDATE SKIP LOCKED
)
SELECT s.id AS job, expired.id AS fence, expired.owner
  FROM expired
 CROSS JOIN LATERAL (
           SELECT s.id FROM tenure.job_state s
            WHERE s.id = ANY (expired.jobs) AND s.lease = expired.id
              FOR UPDATE SKIP LOCKED
       ) s;

-- part: stranded
-- Attempts that their worker has lost although the job is still theirs, since the row of their lease is gone.
SELECT s.id AS job, s.fence
  FROM unnest(:jobs::uuid[], :fences::bigint[]) AS given (job, fence)
  JOIN tenure.job_state s ON s.id = given.job AND s.lease = given.fence
 WHERE NOT EXISTS (SELECT FROM tenure.lease WHERE lease.id = given.fence)
 ORDER BY s.id
   FOR UPDATE OF s;

-- part: put
-- The job goes from where it was met, and gives back the slots that it holds: its row names none then, as of a job that
-- holds none. Everything else there stays as it is. Of a job that is aside already the first report counts that there is.
WITH
met AS MATERIALIZED (
    SELECT s.id, s.line, s.rank, s.seq, s.lease, s.slots,
           (SELECT kind FROM tenure.timer
             WHERE timer.due_at = s.due_at AND timer.job = s.id
               AND kind IN ('hold', 'scheduled', 'retry', 'resume', 'wait', 'give_up') LIMIT 1) AS kind
      FROM tenure.job_state s
     WHERE s.id = :job::uuid
),
put AS (
    INSERT INTO tenure.aside (job, fence, verb, code, text, at, by, owner, kind, ending, result, error, after, cpu_ms,
                              peak_bytes, exit_code, signal)
    SELECT id, coalesce(lease, 0), :verb::text, :code::text, :text::text, tenure.now(), :by::text, :owner::text, kind,
           :ending::text, :result::text, :error::text, :after::interval, :cpu_ms::bigint, :peak_bytes::bigint,
           :exit_code::integer, :signal::smallint
      FROM met
    ON CONFLICT (job) DO UPDATE
       SET ending = excluded.ending, result = excluded.result, error = excluded.error, after = excluded.after,
           cpu_ms = excluded.cpu_ms, peak_bytes = excluded.peak_bytes, exit_code = excluded.exit_code,
           signal = excluded.signal
     WHERE aside.ending IS NULL AND aside.fence = excluded.fence
    RETURNING job
),
freed AS (
    UPDATE tenure.slot SET is_held = false
      FROM (SELECT unnest(line.limits) AS limited, unnest(string_to_array(met.slots, ' ')::smallint[]) AS n
              FROM met
             CROSS JOIN LATERAL (SELECT limits FROM tenure.line WHERE line.id = met.line LIMIT 1) line
             WHERE met.slots ~ '^\d{1,4}( \d{1,4})*$') held
     WHERE slot.limited = held.limited AND slot.n = held.n
),
unnamed AS (
    UPDATE tenure.job_state s SET slots = NULL FROM met WHERE s.id = met.id AND met.slots IS NOT NULL
),
parted AS (
    UPDATE tenure.lease SET jobs = array_remove(lease.jobs, met.id) FROM met WHERE lease.id = met.lease
),
out_of_line AS (
    DELETE FROM tenure.ready USING met
     WHERE ready.job = met.id
       AND (ready.line, ready.rank, ready.seq) IN ((met.line, met.rank, met.seq),
                                                   (:line::integer, :rank::smallint, :seq::bigint))
),
untimed AS (
    DELETE FROM tenure.timer
     WHERE kind IN ('hold', 'scheduled', 'retry', 'resume', 'wait', 'give_up') AND job = :job::uuid
)
SELECT job FROM put;
