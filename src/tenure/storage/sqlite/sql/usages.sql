-- What the last attempts of jobs used, as far as the owners of their leases said it.
SELECT last.job, last.cpu_ms, last.peak_bytes, last.exit_code, last.signal
  FROM json_each(:jobs) chosen
 CROSS JOIN tenure_attempt last
    ON last.job = chosen.value AND last.fence = (SELECT max(fence) FROM tenure_attempt WHERE job = chosen.value)
 WHERE last.cpu_ms IS NOT NULL;
