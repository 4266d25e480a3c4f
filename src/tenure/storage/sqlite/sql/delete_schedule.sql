-- Remove a schedule with its ticks; the jobs that it made stay.

-- part: schedule
DELETE FROM tenure_schedule WHERE namespace = :namespace AND name = :name RETURNING true AS is_gone;

-- part: ticks
DELETE FROM tenure_tick WHERE namespace = :namespace AND schedule = :name;
