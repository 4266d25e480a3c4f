-- End the pause of exactly these; answers whether it was still in force.
DELETE FROM tenure_pause
 WHERE queue = :queue AND definition = :definition AND version = :version
RETURNING until IS NULL OR until > :now AS was_paused;
