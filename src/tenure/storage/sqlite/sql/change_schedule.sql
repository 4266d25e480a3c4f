-- Replace what a schedule was asked for, if it still has the revision that was read and waits for the same tick: the next
-- one was computed then, and must not be one that has fired since. A tick that is due stays due: it fires, or is noted,
-- by the new rule. How many runs are left changes only if that is asked for.
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
RETURNING *;
