-- Replace what a webhook asks for, if it is as it was read.
UPDATE tenure_webhook
   SET namespace  = :namespace,
       creator    = :creator,
       spec       = :spec,
       revision   = revision + 1,
       updated_at = :now
 WHERE id = :id AND revision = :revision
RETURNING *;
