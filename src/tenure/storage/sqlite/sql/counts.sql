-- How many jobs of some lines are in each state, by running totals: history is never counted.
SELECT state, sum(n) AS n
  FROM tenure_tally tally
 WHERE :all AND tally.line <> 0
       OR tally.line IN (SELECT id FROM tenure_line
                          WHERE (:queue IS NULL OR queue = :queue)
                            AND (:definition IS NULL OR definition = :definition)
                            AND (:version IS NULL OR version = :version))
 GROUP BY state;
