-- Replace what a schedule was asked for, if it still has the revision that was read and waits for the same tick: the next
-- one was computed then, and must not be one that has fired since. A tick that is due stays due: it fires, or is noted,
-- by the new rule. How many runs are left changes only if that is asked for.
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
RETURNING *;
