-- One delivery, without what is sent.
SELECT webhook, message, type, at, job, n, state, tries, noted_at, next_at, tried_at, status, took_us, problem
  FROM tenure.delivery
 WHERE webhook = :webhook::uuid AND message = :message::text
   AND EXISTS (SELECT FROM tenure.webhook WHERE id = :webhook::uuid);
