-- Replace what a schedule was asked for, if it still has the revision that was read and waits for the same tick: the next
-- one was computed then, and must not be one that has fired since. How many runs are left changes only if that is asked
-- for.

-- part: missed
-- Ticks that passed during a pause are noted: the new rule does not have them.
INSERT INTO tenure.tick (namespace, schedule, at, outcome, n, until_at, noted_at)
SELECT namespace, name, :at::timestamptz, 'missed', :n::integer, :until::timestamptz, tenure.now()
  FROM (SELECT namespace, name FROM tenure.schedule
         WHERE namespace = :namespace::text AND name = :name::text AND revision = :revision::integer
           AND paused_at IS NOT NULL AND next_at = :at::timestamptz
           FOR UPDATE) found
ON CONFLICT DO NOTHING;

-- part: change
-- A tick that is due stays due: it fires, or is noted, by the new rule. If one has passed during a pause, and was not
-- noted, nothing is changed.
UPDATE tenure.schedule
   SET definition = :definition::text,
       spec       = :spec::text,
       source     = :source::text,
       creator    = :creator::text,
       remaining  = CASE WHEN :recounts::boolean THEN :remaining::bigint ELSE remaining END,
       next_at    = CASE WHEN next_at <= tenure.now() AND paused_at IS NULL THEN next_at
                         WHEN remaining = 0 AND NOT :recounts::boolean THEN NULL ELSE :next_at::timestamptz END,
       revision   = revision + 1,
       updated_at = tenure.now()
 WHERE namespace = :namespace::text AND name = :name::text AND revision = :revision::integer
   AND next_at IS NOT DISTINCT FROM :expected::timestamptz
   AND (paused_at IS NULL OR next_at IS NULL OR next_at > :seen_at::timestamptz OR next_at = :noted_from::timestamptz)
RETURNING *;

-- part: open
-- From now on it is asked which jobs have not ended: those of earlier ticks count as well.
UPDATE tenure.tick
   SET is_open = true
  FROM tenure.job_state s
 WHERE tick.namespace = :namespace::text AND tick.schedule = :name::text AND NOT tick.is_open
   AND s.id = tick.job AND s.finished_at IS NULL;
