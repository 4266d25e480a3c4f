-- Replace what a webhook asks for, if it is as it was read.
UPDATE tenure.webhook
   SET namespace  = :namespace::text,
       creator    = :creator::text,
       spec       = :spec::text,
       revision   = revision + 1,
       updated_at = tenure.now()
 WHERE id = :id::uuid AND revision = :revision::integer
RETURNING *;
