-- Forget workers not seen for a day. Totals need no folding here.
DELETE FROM tenure_worker WHERE seen_at < :now - 86400000000 RETURNING true AS is_spared;
