-- Replace what a schedule was asked for, if it still has the revision that was read and waits for the same tick: the next
-- one was computed then, and must not be one that has fired since. How many runs are left changes only if that is asked
-- for.

-- part: missed
-- Ticks that passed during a pause are noted: the new rule does not have them.
INSERT INTO tenure_tick (namespace, schedule, at, outcome, n, until_at, noted_at)
SELECT namespace, name, :at, 'missed', :n, :until, :now
  FROM tenure_schedule
 WHERE namespace = :namespace AND name = :name AND revision = :revision AND paused_at IS NOT NULL AND next_at = :at
ON CONFLICT DO NOTHING;

-- part: change
-- A tick that is due stays due: it fires, or is noted, by the new rule. If one has passed during a pause, and was not
-- noted, nothing is changed.
UPDATE tenure_schedule
   SET definition = :definition,
       spec       = :spec,
       source     = :source,
       creator    = :creator,
       remaining  = iif(:recounts, :remaining, remaining),
       next_at    = CASE WHEN next_at <= :now AND paused_at IS NULL THEN next_at
                         WHEN remaining = 0 AND NOT :recounts THEN NULL ELSE :next_at END,
       revision   = revision + 1,
       updated_at = :now
 WHERE namespace = :namespace AND name = :name AND revision = :revision AND next_at IS :expected
   AND (paused_at IS NULL OR next_at IS NULL OR next_at > :seen_at OR next_at = :noted_from)
RETURNING *;

-- part: open
-- From now on it is asked which jobs have not ended: those of earlier ticks count as well.
UPDATE tenure_tick
   SET is_open = 1
 WHERE namespace = :namespace AND schedule = :name AND is_open = 0 AND job IS NOT NULL
   AND EXISTS (SELECT 1 FROM tenure_job_state s WHERE s.id = tenure_tick.job AND s.finished_at IS NULL);
