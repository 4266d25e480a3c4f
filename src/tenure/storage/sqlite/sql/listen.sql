-- What tells a process that waits that there is news.

-- part: commits
-- A number that every commit of another connection changes.
PRAGMA data_version;

-- part: arrivals
-- Most commits put no job in line. One that does moves the first number; resuming a line or widening a limit, another.
SELECT (SELECT n FROM tenure_sequence WHERE name = 'place'), (SELECT count(*) FROM tenure_pause),
       (SELECT total(size) FROM tenure_limit_size);

-- part: stops
SELECT n FROM tenure_sequence WHERE name = 'stop';
