-- What signs now, the newest first. The store's time is that of its last write, or the machine's, whichever is later.
SELECT webhook, rotation, text
  FROM tenure_webhook_secret
 WHERE webhook IN (SELECT value FROM json_each(:webhooks)) AND (until_at IS NULL OR until_at > :now)
 ORDER BY webhook, rotation DESC;
