-- How long finished jobs are kept: for all definitions, under '', and for single ones.
SELECT definition, succeeded_ms, others_ms, keyed_ms, log_ms, by, at FROM tenure_retention ORDER BY definition;
