-- Since when nobody has taken the cursor of all webhooks, if for so long that nothing is kept for it any more.
SELECT held_at FROM tenure.cursor WHERE name = 'webhooks' AND held_at <= tenure.now() - interval '1 day';
