-- Places under limits that are taken, though no job with a lease names them: nothing will free them, and the limit is
-- smaller by so many. A job that is aside has given its places back. One statement sees one moment.
WITH
owned AS MATERIALIZED (
    SELECT s.line, s.slots
      FROM (SELECT id, unnest(jobs) AS job FROM tenure.lease) held
     CROSS JOIN LATERAL (SELECT line, slots, lease FROM tenure.job_state WHERE job_state.id = held.job LIMIT 1) s
     WHERE s.lease = held.id AND s.slots ~ '^\d{1,4}( \d{1,4})*$'
       AND NOT EXISTS (SELECT FROM tenure.aside WHERE aside.job = held.job)
),
named AS MATERIALIZED (
    SELECT unnest(line.limits) AS limited, unnest(string_to_array(owned.slots, ' ')::smallint[]) AS n
      FROM owned
     CROSS JOIN LATERAL (SELECT limits FROM tenure.line WHERE line.id = owned.line LIMIT 1) line
)
SELECT limited.name, limited.key, limited.id AS number, loose.n, loose.places
  FROM (SELECT slot.limited, count(*) AS n, string_agg(slot.n::text, ', ' ORDER BY slot.n) AS places
          FROM tenure.slot
         WHERE slot.is_held
           AND NOT EXISTS (SELECT FROM named WHERE named.limited = slot.limited AND named.n = slot.n)
         GROUP BY slot.limited
         ORDER BY slot.limited
         LIMIT :limit::integer) loose
  JOIN tenure.limited ON limited.id = loose.limited
 ORDER BY limited.id;
