-- Let a webhook rest, and keep how far events were fanned out. One that is paused stays as it is.
UPDATE tenure_webhook
   SET paused_at     = :now,
       paused_by     = :by,
       reason        = :reason,
       paused_behind = :paused_behind,
       updated_at    = :now
 WHERE id = :id AND paused_at IS NULL
RETURNING *;
