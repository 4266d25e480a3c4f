-- Set parts of how long the jobs of a definition, or of all, are kept. Parts that are not named stay as they are, in one
-- statement: of two operators that change different parts at once, neither undoes the other.
INSERT INTO tenure_retention (definition, succeeded_ms, others_ms, keyed_ms, log_ms, by, at)
SELECT :definition, coalesce(:succeeded, whole.succeeded_ms), coalesce(:others, whole.others_ms),
       coalesce(:keyed, whole.keyed_ms), :logs, :by, :now
  FROM (SELECT 1) AS one
  -- The row for all must be whole before it is found to be there already.
  LEFT JOIN tenure_retention whole ON whole.definition = '' AND :definition = ''
 WHERE true
ON CONFLICT DO UPDATE
   SET succeeded_ms = iif('succeeded' IN (SELECT value FROM json_each(:parts)), excluded.succeeded_ms, tenure_retention.succeeded_ms),
       others_ms    = iif('others' IN (SELECT value FROM json_each(:parts)), excluded.others_ms, tenure_retention.others_ms),
       keyed_ms     = iif('keyed' IN (SELECT value FROM json_each(:parts)), excluded.keyed_ms, tenure_retention.keyed_ms),
       log_ms       = iif('logs' IN (SELECT value FROM json_each(:parts)), excluded.log_ms, tenure_retention.log_ms),
       by = excluded.by, at = excluded.at;
