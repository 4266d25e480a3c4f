-- Record a delivery by itself, due now. The key keeps the webhook from going meanwhile.
INSERT INTO tenure.delivery (webhook, message, type, at, job, n, body, noted_at, next_at)
SELECT webhook.id, :message::text, :type::text, :at::timestamptz, :job::uuid, :n::integer, :body::text, tenure.now(),
       tenure.now()
  FROM tenure.webhook WHERE webhook.id = :webhook::uuid FOR KEY SHARE
ON CONFLICT DO NOTHING;
