-- Let a paused schedule go on with a tick, if it still waits for the one that was read. What passed is noted as missed.

-- part: move
UPDATE tenure_schedule
   SET paused_at  = NULL,
       paused_by  = NULL,
       reason     = NULL,
       next_at    = :next_at,
       updated_at = :now
 WHERE namespace = :namespace AND name = :name AND revision = :revision AND paused_at IS NOT NULL AND next_at IS :expected
RETURNING *;

-- part: missed
INSERT INTO tenure_tick (namespace, schedule, at, outcome, n, until_at, noted_at)
VALUES (:namespace, :name, :at, 'missed', :n, :until, :now)
ON CONFLICT DO NOTHING;
