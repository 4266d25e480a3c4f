-- How many dead letters of each cause ended in each of the last hours: of every cause the newest, up to a bound.
SELECT cause.fingerprint,
       (SELECT json_object_agg(hour, n)
          FROM (SELECT floor(extract(epoch FROM tenure.now() - at) / 3600)::integer AS hour, count(*) AS n
                  FROM (SELECT finished.at FROM tenure.finished
                         WHERE finished.fingerprint = cause.fingerprint AND finished.at > tenure.now() - :lately::interval
                         ORDER BY finished.at DESC LIMIT :most::integer) ended
                 GROUP BY 1) counted)::text AS hours
  FROM unnest(:fingerprints::text[]) AS cause (fingerprint);
