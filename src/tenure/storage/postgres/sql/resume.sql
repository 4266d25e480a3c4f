-- End the pause of exactly these; answers whether it was still in force.
DELETE FROM tenure.pause
 WHERE queue = :queue::text AND definition = :definition::text AND version = :version::integer
RETURNING until IS NULL OR until > tenure.now() AS was_paused;
