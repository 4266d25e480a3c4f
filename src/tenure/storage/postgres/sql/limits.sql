-- Every limit and key that jobs have named, and how many run under it.
SELECT name, key, size,
       (SELECT count(*) FROM tenure.slot WHERE slot.limited = limited.id AND slot.is_held) AS held
  FROM tenure.limited JOIN tenure.limit_size USING (name)
 ORDER BY name COLLATE "C", key COLLATE "C";
