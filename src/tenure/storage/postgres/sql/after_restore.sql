-- Let a database that was restored go on: one transaction, in which nothing else writes. What has begun before has ended
-- when the locks are held (`restore.py`), and what comes waits, and then counts as the new function does.

-- part: seen
SELECT id, host, seen_at, tenure.now() AS now_at FROM tenure.worker WHERE seen_at >= tenure.now() - :alive::interval ORDER BY seen_at DESC, id;

-- part: numbers
-- The last mark there is; how far the store has counted; and the least number of a transaction that may still write.
SELECT greatest((SELECT mark FROM tenure.event ORDER BY mark DESC LIMIT 1),
                (SELECT mark FROM tenure.job ORDER BY mark DESC LIMIT 1), 0) AS kept,
       tenure.counted(txid_snapshot_xmax(txid_current_snapshot())) AS reached,
       txid_snapshot_xmin(txid_current_snapshot()) AS oldest;

-- part: cut
INSERT INTO tenure.restore (kept, resumed, at, store)
SELECT :kept::bigint, :resumed::bigint, tenure.now(), id FROM tenure.store
ON CONFLICT (kept) DO UPDATE SET resumed = excluded.resumed, at = excluded.at;

-- part: name
-- A program that remembers messages by the store and their number must not take what comes for what was lost.
UPDATE tenure.store SET id = gen_random_uuid();

-- part: lift
-- Above all that was given out after the backup was made. A sequence is not rolled back: to lift it twice does no harm.
SELECT setval('tenure.place', nextval('tenure.place') + :lift::bigint) AS place,
       setval(given, nextval(given) + :lift::bigint) AS fence
  FROM (SELECT pg_get_serial_sequence('tenure.lease', 'id')::regclass AS given) lease;

-- part: end
-- No worker may keep a lease: the reaper takes back what is under them, as from any worker that was lost.
UPDATE tenure.lease SET expires_at = least(expires_at, tenure.now()) RETURNING id AS fence;

-- part: cursors
-- They stood on numbers that the server had counted for others. What comes has higher ones in any case.
UPDATE tenure.cursor
   SET mark = :kept::bigint, job = 'ffffffff-ffff-ffff-ffff-ffffffffffff', n = 2147483647
 WHERE mark > :kept::bigint;
