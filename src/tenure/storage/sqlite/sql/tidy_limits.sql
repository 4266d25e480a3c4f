-- Remove the limits of schedules that are gone, with their lines, once no job is left in those.

-- part: free
SELECT limited.id AS limited
  FROM tenure_limited limited
 WHERE limited.name = 'system.schedule'
   AND NOT EXISTS (SELECT 1 FROM tenure_schedule schedule
                    WHERE schedule.namespace = substr(limited.key, 1, instr(limited.key, char(31)) - 1)
                      AND schedule.name = substr(limited.key, instr(limited.key, char(31)) + 1))
   AND NOT EXISTS (SELECT 1
                     FROM tenure_line line
                    CROSS JOIN json_each(line.limits) part
                    WHERE line.limits <> '[]' AND part.value = limited.id
                      AND EXISTS (SELECT 1 FROM tenure_job job WHERE job.line = line.id))
 LIMIT 100;

-- part: lines
DELETE FROM tenure_line
 WHERE limits <> '[]' AND EXISTS (SELECT 1 FROM json_each(limits) part WHERE part.value = :limited);

-- part: limits
DELETE FROM tenure_limited WHERE id = :limited;
