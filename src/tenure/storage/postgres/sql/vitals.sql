-- What the server says of itself. Reads statistics only, and no table.

-- part: server
-- Sessions by database are counted for every user; what they do is shown only to their user and to those with the right.
SELECT (SELECT sum(numbackends) FROM pg_stat_database)::integer AS used,
       current_setting('max_connections')::integer AS most,
       pg_notification_queue_usage() AS notify,
       pg_has_role(current_user, 'pg_read_all_stats', 'USAGE') AS sees_all,
       current_user::text AS user;

-- part: oldest
SELECT pid, coalesce(usename, '-')::text AS user, coalesce(datname, '-')::text AS database,
       coalesce(application_name, '') AS program, coalesce(state, '-') AS state, xact_start AS since,
       xact_start < clock_timestamp() - :long::interval AS is_long
  FROM pg_stat_activity
 WHERE xact_start IS NOT NULL AND pid <> pg_backend_pid() AND backend_type = 'client backend'
 ORDER BY xact_start
 LIMIT 1;

-- part: tables
SELECT relname::text AS name, n_live_tup AS live, n_dead_tup AS dead, n_tup_upd AS updates, n_tup_hot_upd AS hot,
       greatest(last_autovacuum, last_vacuum) AS vacuumed_at
  FROM pg_stat_user_tables
 WHERE schemaname = 'tenure' AND relname = ANY (:tables::text[])
 ORDER BY relname;
