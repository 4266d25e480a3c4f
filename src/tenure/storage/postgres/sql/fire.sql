-- Let schedules fire: each moves on to its next tick, and its ticks and jobs are recorded in the same transaction.

-- part: move
-- Only a schedule that is as it was read moves; another node may have been quicker. Answers with those that moved.
-- One that another node holds is passed over, so that no two nodes wait for each other. The lock tells others that they
-- need not read what is being fired here; whether it is had does not matter.
WITH
turn AS MATERIALIZED (
    SELECT pg_try_advisory_xact_lock(7308325449218352743)
),
given AS MATERIALIZED (
    SELECT * FROM unnest(:namespaces::text[], :schedules::text[], :revisions::integer[], :expected::timestamptz[],
                         :next_ats::timestamptz[], :last_ats::timestamptz[], :last_outcomes::text[])
               AS given (namespace, name, revision, expected, next_at, last_at, last_outcome)
),
held AS MATERIALIZED (
    SELECT given.*
      FROM turn
     CROSS JOIN given
     CROSS JOIN LATERAL (SELECT FROM tenure.schedule
                          WHERE schedule.namespace = given.namespace AND schedule.name = given.name
                            AND schedule.revision = given.revision AND schedule.next_at = given.expected
                            AND schedule.paused_at IS NULL
                            FOR UPDATE SKIP LOCKED) own
)
UPDATE tenure.schedule
   SET next_at   = held.next_at,
       last_at   = coalesce(held.last_at, schedule.last_at),
       last_outcome = coalesce(held.last_outcome, schedule.last_outcome)
  FROM held
 WHERE schedule.namespace = held.namespace AND schedule.name = held.name
RETURNING schedule.namespace, schedule.name, schedule.remaining IS NOT NULL AS is_counted;

-- part: close
-- Ticks whose jobs have ended, or are gone, are no longer open.
UPDATE tenure.tick
   SET is_open = false
  FROM unnest(:namespaces::text[], :schedules::text[]) AS moved (namespace, name)
 WHERE tick.is_open AND tick.namespace = moved.namespace AND tick.schedule = moved.name
   AND NOT EXISTS (SELECT FROM tenure.job_state s WHERE s.id = tick.job AND s.finished_at IS NULL);

-- part: ticks
-- A tick that is on record already, from before an edit or a clock that stepped, stays as it is and makes no job.
INSERT INTO tenure.tick (namespace, schedule, at, outcome, job, n, until_at, problem, is_open, noted_at)
SELECT given.*, tenure.now()
  FROM unnest(:namespaces::text[], :schedules::text[], :ats::timestamptz[], :outcomes::text[], :jobs::uuid[],
              :counts::integer[], :untils::timestamptz[], :problems::text[], :open::boolean[])
         AS given (namespace, schedule, at, outcome, job, n, until_at, problem, is_open)
ON CONFLICT DO NOTHING
RETURNING job;

-- part: count
-- Where runs are counted, each job that was made is one less to come. With the last one the schedule ends.
UPDATE tenure.schedule
   SET remaining = greatest(remaining - made.n, 0),
       next_at   = CASE WHEN remaining > made.n THEN next_at END
  FROM unnest(:namespaces::text[], :schedules::text[], :made::integer[]) AS made (namespace, name, n)
 WHERE schedule.namespace = made.namespace AND schedule.name = made.name AND remaining IS NOT NULL;
