-- Claim certain jobs by their ids, as messages name them: each under a fresh lease, if it is queued and free.
-- A job whose time has come is promoted before, one whose lease has run out is reaped, and then the script of a turn
-- claims; these parts stand there for those that find the jobs. Paused jobs and those under limits are left to the ordinary claim.

-- part: known
SELECT given.value AS job, line.queue, line.definition, line.version,
       CASE
           WHEN s.id IS NULL THEN 'unknown'
           WHEN s.state IN ('succeeded', 'failed', 'cancelled', 'buried') THEN 'finished'
           WHEN NOT EXISTS (SELECT 1 FROM json_each(:lines) served
                             WHERE served.value ->> 0 = line.queue AND served.value ->> 1 = line.definition
                               AND served.value ->> 2 = line.version) THEN 'unserved'
           WHEN EXISTS (SELECT 1 FROM tenure_aside aside WHERE aside.job = s.id) THEN 'aside'
           WHEN s.state IN ('running', 'cancelling')
           THEN iif(EXISTS (SELECT 1 FROM tenure_lease lease WHERE lease.id = s.lease AND lease.expires_at <= :now),
                    'expired', 'owned')
           WHEN s.state <> 'queued' THEN iif(s.due_at <= :now, 'due', 'not-due')
           WHEN EXISTS (SELECT 1 FROM tenure_pause
                         WHERE queue IN ('', line.queue) AND definition IN ('', line.definition)
                           AND version IN (0, line.version) AND (until IS NULL OR until > :now)) THEN 'paused'
           WHEN line.limits <> '[]' THEN 'limited'
       END AS why
  FROM json_each(:named) given
  LEFT JOIN tenure_job_state s ON s.id = given.value
  LEFT JOIN tenure_line line ON line.id = s.line;

-- part: due
INSERT INTO temp.moving (id, line, source, target, due_at, kind)
SELECT s.id, s.line, s.state, iif(timer.kind = 'give_up', 'failed', 'queued'), timer.due_at, timer.kind
  FROM json_each(:named) given
 CROSS JOIN tenure_job_state s ON s.id = given.value AND s.state IN ('scheduled', 'retrying', 'suspended')
 CROSS JOIN tenure_timer timer ON timer.due_at = s.due_at AND timer.job = s.id
 WHERE timer.due_at <= :now AND timer.kind IN ('hold', 'scheduled', 'retry', 'resume', 'wait', 'give_up')
 ORDER BY timer.due_at, timer.job;

-- part: lost
INSERT INTO temp.moving (id, line, source, target, worker)
SELECT s.id, s.line, s.state,
       CASE WHEN s.state = 'cancelling'      THEN 'cancelled'
            WHEN job.on_lost = 'bury'        THEN 'buried'
            WHEN s.attempt >= s.max_attempts THEN 'failed'
            ELSE 'queued'
       END,
       lease.owner
  FROM json_each(:named) given
 CROSS JOIN tenure_job_state s ON s.id = given.value AND s.state IN ('running', 'cancelling')
 CROSS JOIN tenure_lease lease ON lease.id = s.lease AND lease.expires_at <= :now
 CROSS JOIN tenure_job job ON job.id = s.id
 ORDER BY s.id;

-- part: swept
-- A lease stays for the other jobs that were claimed under it: the next reaper comes back to it.
UPDATE tenure_lease
   SET jobs = (SELECT json_group_array(value) FROM json_each(tenure_lease.jobs)
                WHERE value NOT IN (SELECT id FROM temp.moving))
 WHERE id IN (SELECT s.lease FROM temp.moving m CROSS JOIN tenure_job_state s ON s.id = m.id);

-- part: picked
INSERT INTO temp.picked (line, rank, seq, job, n, attempt, queued_at)
SELECT s.line, s.rank, s.seq, s.id, s.n, s.attempt, s.queued_at
  FROM json_each(:named) given
 CROSS JOIN tenure_job_state s ON s.id = given.value AND s.state = 'queued'
 CROSS JOIN tenure_ready ready ON ready.line = s.line AND ready.rank = s.rank AND ready.seq = s.seq
                              AND ready.job = s.id;
