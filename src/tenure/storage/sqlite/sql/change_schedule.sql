-- Replace what a schedule was asked for, if it still has the revision that was read. A tick that is due stays due: it
-- fires, or is noted, by the new rule.
UPDATE tenure_schedule
   SET definition = :definition,
       spec       = :spec,
       source     = :source,
       creator    = :creator,
       remaining  = :remaining,
       next_at    = iif(next_at <= :now AND paused_at IS NULL, next_at, :next_at),
       revision   = revision + 1,
       updated_at = :now
 WHERE namespace = :namespace AND name = :name AND revision = :revision
RETURNING *;
