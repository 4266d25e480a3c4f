-- Let a file that was restored go on: one transaction, as nothing else writes meanwhile.

-- part: seen
SELECT id AS worker, host, seen_at FROM tenure_worker WHERE seen_at >= :now - :alive ORDER BY seen_at DESC, id;

-- part: cut
INSERT INTO tenure_restore (kept, resumed, at, store) SELECT :kept, :resumed, :now, id FROM tenure_store WHERE true
ON CONFLICT (kept) DO UPDATE SET resumed = excluded.resumed, at = excluded.at;

-- part: name
-- A program that remembers messages by the store and their number must not take what comes for what was lost.
UPDATE tenure_store SET id = :id;

-- part: lift
-- Above all that was given out after the copy was made.
UPDATE tenure_sequence SET n = CASE name WHEN 'mark' THEN :counted ELSE n + :lift END
 WHERE name IN ('mark', 'place', 'fence');

-- part: end
-- No worker may keep a lease: the reaper takes back what is under them, as from any worker that was lost.
UPDATE tenure_lease SET expires_at = min(expires_at, :now) RETURNING id AS fence;
