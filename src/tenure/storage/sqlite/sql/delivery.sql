-- One delivery, without what is sent.
SELECT webhook, message, type, at, job, n, state, tries, noted_at, next_at, tried_at, status, took_us, problem
  FROM tenure_delivery
 WHERE webhook = :webhook AND message = :message AND EXISTS (SELECT 1 FROM tenure_webhook WHERE id = :webhook);
