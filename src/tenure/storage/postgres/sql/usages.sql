-- What the last attempts of jobs used, as far as the owners of their leases said it.
SELECT chosen.id AS job, last.cpu_ms, last.peak_bytes, last.exit_code, last.signal
  FROM unnest(:ids::uuid[]) AS chosen (id)
 CROSS JOIN LATERAL (SELECT cpu_ms, peak_bytes, exit_code, signal FROM tenure.attempt
                      WHERE attempt.job = chosen.id ORDER BY fence DESC LIMIT 1) last
 WHERE last.cpu_ms IS NOT NULL;
