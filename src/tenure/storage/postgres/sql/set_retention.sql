-- Set parts of how long the jobs of a definition, or of all, are kept. Parts that are not named stay as they are, in one
-- statement: of two operators that change different parts at once, neither undoes the other.
INSERT INTO tenure.retention (definition, succeeded_ms, others_ms, keyed_ms, log_ms, by, at)
SELECT :definition::text, coalesce(:succeeded::bigint, whole.succeeded_ms), coalesce(:others::bigint, whole.others_ms),
       coalesce(:keyed::bigint, whole.keyed_ms), :logs::bigint, :by::text, tenure.now()
  FROM (SELECT) AS one
  -- The row for all must be whole before it is found to be there already.
  LEFT JOIN tenure.retention whole ON whole.definition = '' AND :definition::text = ''
ON CONFLICT (definition) DO UPDATE
   SET succeeded_ms = CASE WHEN 'succeeded' = ANY (:parts::text[]) THEN excluded.succeeded_ms ELSE retention.succeeded_ms END,
       others_ms    = CASE WHEN 'others' = ANY (:parts::text[]) THEN excluded.others_ms ELSE retention.others_ms END,
       keyed_ms     = CASE WHEN 'keyed' = ANY (:parts::text[]) THEN excluded.keyed_ms ELSE retention.keyed_ms END,
       log_ms       = CASE WHEN 'logs' = ANY (:parts::text[]) THEN excluded.log_ms ELSE retention.log_ms END,
       by = excluded.by, at = excluded.at;
