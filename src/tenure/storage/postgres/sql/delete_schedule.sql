-- Remove a schedule with its ticks; the jobs that it made stay.

-- part: schedule
DELETE FROM tenure.schedule WHERE namespace = :namespace::text AND name = :name::text RETURNING name;

-- part: ticks
DELETE FROM tenure.tick WHERE namespace = :namespace::text AND schedule = :name::text;
