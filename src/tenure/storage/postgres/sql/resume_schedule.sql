-- Let a paused schedule go on with a tick, if it still waits for the one that was read. What passed is noted as missed.

-- part: move
UPDATE tenure.schedule
   SET paused_at  = NULL,
       paused_by  = NULL,
       reason     = NULL,
       next_at    = :next_at::timestamptz,
       updated_at = tenure.now()
 WHERE namespace = :namespace::text AND name = :name::text AND revision = :revision::integer AND paused_at IS NOT NULL
   AND next_at IS NOT DISTINCT FROM :expected::timestamptz
RETURNING *;

-- part: missed
INSERT INTO tenure.tick (namespace, schedule, at, outcome, n, until_at, noted_at)
VALUES (:namespace::text, :name::text, :at::timestamptz, 'missed', :n::integer, :until::timestamptz, tenure.now())
ON CONFLICT DO NOTHING;
