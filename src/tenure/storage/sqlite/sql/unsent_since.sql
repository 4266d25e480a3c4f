-- Since when nobody has taken the cursor of all webhooks, if for so long that nothing is kept for it any more.
SELECT held_at FROM tenure_cursor WHERE name = 'webhooks' AND held_at <= :now - 86400000000;
