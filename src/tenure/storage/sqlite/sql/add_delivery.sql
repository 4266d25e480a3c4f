-- Record a delivery by itself, due now.
INSERT INTO tenure_delivery (webhook, message, type, at, job, n, body, noted_at, next_at)
SELECT id, :message, :type, :at, :job, :n, :body, :now, :now FROM tenure_webhook WHERE id = :webhook
ON CONFLICT DO NOTHING;
