-- Take endings that no worker has followed up: each is given to one that asks, once.
DELETE FROM tenure.aftermath
 WHERE ctid = ANY (ARRAY(
           SELECT ended.tid
             FROM unnest(:queues::text[], :definitions::text[], :versions::integer[])
                  AS served (queue, definition, version)
            CROSS JOIN LATERAL (SELECT aftermath.ctid AS tid FROM tenure.aftermath
                                 WHERE aftermath.queue = served.queue AND aftermath.definition = served.definition
                                   AND aftermath.version = served.version
                                 ORDER BY queue, definition, version, job
                                 LIMIT :limit::integer
                                   FOR UPDATE SKIP LOCKED) ended
            LIMIT :limit::integer))
RETURNING job;
