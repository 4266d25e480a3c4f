-- Send a delivery again, as if it had never been tried. Who tries it now does not hold it any more.
UPDATE tenure.delivery
   SET state = 'waiting', tries = 0, next_at = tenure.now(), holder = NULL
 WHERE webhook = :webhook::uuid AND message = :message::text
   AND EXISTS (SELECT FROM tenure.webhook WHERE id = :webhook::uuid)
RETURNING webhook, message, type, at, job, n, state, tries, noted_at, next_at, tried_at, status, took_us, problem;
