-- Let a webhook rest, and keep how far events were fanned out. One that is paused stays as it is.
UPDATE tenure.webhook
   SET paused_at     = tenure.now(),
       paused_by     = :by::text,
       reason        = :reason::text,
       paused_behind = :paused_behind::text,
       updated_at    = tenure.now()
 WHERE id = :id::uuid AND paused_at IS NULL
RETURNING *;
