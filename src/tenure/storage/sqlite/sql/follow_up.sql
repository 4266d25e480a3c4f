-- Take endings that no worker has followed up: each is given to one that asks, once.
DELETE FROM tenure_aftermath
 WHERE (queue, definition, version, job) IN (
           SELECT ended.queue, ended.definition, ended.version, ended.job
             FROM json_each(:lines) served
            CROSS JOIN tenure_aftermath ended ON ended.queue = served.value ->> 0
                                             AND ended.definition = served.value ->> 1
                                             AND ended.version = served.value ->> 2
            LIMIT :limit)
RETURNING job;
