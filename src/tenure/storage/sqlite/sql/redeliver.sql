-- Send a delivery again, as if it had never been tried. Who tries it now does not hold it any more.
UPDATE tenure_delivery
   SET state = 'waiting', tries = 0, next_at = :now, holder = NULL
 WHERE webhook = :webhook AND message = :message AND EXISTS (SELECT 1 FROM tenure_webhook WHERE id = :webhook)
RETURNING webhook, message, type, at, job, n, state, tries, noted_at, next_at, tried_at, status, took_us, problem;
