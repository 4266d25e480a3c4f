-- How many jobs of some lines are in each state, by running totals: history is never counted.
SELECT state, sum(n)::bigint AS n
  FROM tenure.tally
 WHERE :all::boolean AND line <> 0
       OR line IN (SELECT id FROM tenure.line
                    WHERE (:queue::text IS NULL OR queue = :queue::text)
                      AND (:definition::text IS NULL OR definition = :definition::text)
                      AND (:version::integer IS NULL OR version = :version::integer))
 GROUP BY state;
