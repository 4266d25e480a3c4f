-- Dead letters by what they died of: the groups whose newest is the latest. From one group to the next is a hop, so it
-- is the number of groups that counts, not that of dead letters, and both are bounded.
WITH RECURSIVE
hops (fingerprint) AS (
    SELECT max(fingerprint) FROM tenure_finished WHERE fingerprint > ''
     UNION ALL
    SELECT (SELECT max(fingerprint) FROM tenure_finished WHERE tenure_finished.fingerprint < hops.fingerprint)
      FROM hops WHERE fingerprint IS NOT NULL
     LIMIT :most_groups
),
latest (fingerprint, at) AS MATERIALIZED (
    SELECT fingerprint, (SELECT max(ended.at) FROM tenure_finished ended WHERE ended.fingerprint = hops.fingerprint) AS at
      FROM hops WHERE fingerprint IS NOT NULL
     ORDER BY at DESC, fingerprint
     LIMIT :limit
),
chosen (fingerprint, at, job) AS MATERIALIZED (
    SELECT fingerprint, at, (SELECT ended.job FROM tenure_finished ended
                              WHERE ended.fingerprint = latest.fingerprint AND ended.at = latest.at
                              ORDER BY ended.job DESC LIMIT 1)
      FROM latest
)
SELECT fingerprint, at AS newest_at, job,
       (SELECT min(ended.at) FROM tenure_finished ended WHERE ended.fingerprint = chosen.fingerprint) AS oldest_at,
       (SELECT count(*) FROM (SELECT 1 FROM tenure_finished ended WHERE ended.fingerprint = chosen.fingerprint
                               LIMIT :most)) AS n,
       (SELECT attempt.error FROM tenure_attempt attempt WHERE attempt.job = chosen.job
         ORDER BY attempt.fence DESC LIMIT 1) AS error
  FROM chosen
 ORDER BY at DESC, fingerprint;
