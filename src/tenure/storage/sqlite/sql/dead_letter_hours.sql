-- How many dead letters of each cause ended in each of the last hours: of every cause the newest, up to a bound.
SELECT cause.value AS fingerprint,
       (SELECT json_group_object(hour, n)
          FROM (SELECT (:now - at) / 3600000000 AS hour, count(*) AS n
                  FROM (SELECT at FROM tenure_finished ended
                         WHERE ended.fingerprint = cause.value AND ended.at > :now - :lately
                         ORDER BY ended.at DESC LIMIT :most)
                 GROUP BY 1)) AS hours
  FROM json_each(:fingerprints) cause;
