-- Dead letters by what they died of: the groups whose newest is the latest. From one group to the next is a hop, which
-- finds that newest one; so it is the number of groups that counts, not that of dead letters, and both are bounded.
WITH RECURSIVE
hops (fingerprint, at, job) AS (
    (SELECT fingerprint, at, job FROM tenure.finished WHERE fingerprint > ''
      ORDER BY fingerprint DESC, at DESC, job DESC LIMIT 1)
    UNION ALL
    SELECT next.*
      FROM hops
     CROSS JOIN LATERAL (SELECT finished.fingerprint, finished.at, finished.job FROM tenure.finished
                          WHERE finished.fingerprint < hops.fingerprint
                          ORDER BY finished.fingerprint DESC, finished.at DESC, finished.job DESC LIMIT 1) next
),
latest AS MATERIALIZED (
    SELECT * FROM (SELECT * FROM hops LIMIT :most_groups::integer) reached
     ORDER BY at DESC, fingerprint
     LIMIT :limit::integer
)
SELECT latest.fingerprint, latest.at AS newest_at, latest.job,
       (SELECT finished.at FROM tenure.finished WHERE finished.fingerprint = latest.fingerprint
         ORDER BY finished.fingerprint, finished.at, finished.job LIMIT 1) AS oldest_at,
       -- In an order, so that it is counted by the index even where nearly all died of the same.
       (SELECT count(*) FROM (SELECT FROM tenure.finished WHERE finished.fingerprint = latest.fingerprint
                               ORDER BY finished.job LIMIT :most::integer) counted) AS n,
       (SELECT attempt.error FROM tenure.attempt WHERE attempt.job = latest.job
         ORDER BY attempt.fence DESC LIMIT 1) AS error
  FROM latest
 ORDER BY latest.at DESC, latest.fingerprint;
