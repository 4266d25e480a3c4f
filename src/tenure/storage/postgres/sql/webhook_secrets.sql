-- What signs now, the newest first.
SELECT webhook, rotation, text
  FROM tenure.webhook_secret
 WHERE webhook = ANY (:webhooks::uuid[]) AND (until_at IS NULL OR until_at > tenure.now())
 ORDER BY webhook, rotation DESC;
