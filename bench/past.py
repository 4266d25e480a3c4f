"""A database with a day behind it: a million jobs in every state, with all that they left on record.

What is over is written by plain SQL, the same for both stores, as the verbs would have written it one by one
in the time that the jobs took. What goes on, workers and the jobs they run, comes about by the verbs.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import apsw
import asyncpg

from tenure.core.model.job import NewJob
from tenure.core.model.lease import Line, Order
from tenure.core.model.spec import Spec
from tenure.core.model.states import State
from tenure.core.reports.operations import Definition, WorkerInfo
from tenure.core.reports.reading import Filter
from tenure.core.values import documents
from tenure.core.values.failure import Failure
from tenure.storage.contract.store import Store
from tenure.storage.mapping.job_rows import written_failure
from tenure.storage.sqlite.rows import micros

QUEUES, KINDS, WORKERS = 8, 5, 8
"""Queues, definitions in each of them, and workers that serve them all."""

SLOTS = 25
"""Jobs that each worker runs."""

LINES = tuple(Line(f"queue{n}", f"work.kind{n}x{kind}") for n in range(QUEUES) for kind in range(KINDS))
"""By number, from 1 on."""

HIGHEST_SHARE = {
    "succeeded": 880,
    "failed": 920,
    "buried": 930,
    "cancelled": 950,
    "queued": 980,
    "scheduled": 990,
    "retrying": 1000,
}
"""Up to which of a thousand jobs each state goes."""

TAG = "urgent"
ENDED_WELL = Filter(states=frozenset({State.SUCCEEDED}))
ERROR = written_failure(Failure("TimeoutError", "no answer within 30 s", "Traceback:\n" + "  a line\n" * 40))
PARAMS = documents.write({"text": "x" * 180})
_DAY = 86_400_000
_LEASE = timedelta(hours=1)
_STATE = " ".join(f"WHEN place < {most} THEN '{state}'" for state, most in HIGHEST_SHARE.items())
_STAGE = f"""
    CREATE TEMP TABLE past AS
    WITH RECURSIVE
    counting (i) AS (SELECT CAST(1 AS {{whole}}) UNION ALL SELECT i + 1 FROM counting WHERE i < {{jobs}}),
    numbered AS (
        SELECT i, (i * 7919) % 1000 AS place, 1 + (i * 31 + i / 97) % {len(LINES)} AS line,
               {{begin}} + {{ms}} * (i * {_DAY} / {{jobs}}) AS at
          FROM counting),
    told AS (
        SELECT numbered.*, CASE {_STATE} END AS state, {{mark}} AS mark, {{id}} AS id,
               at + {{ms}} * (50 + (i * 17) % 900) AS started_at,
               at + {{ms}} * (1000 + (i * 29) % 4000) AS ended_at
          FROM numbered)
    SELECT told.*, state IN ('succeeded', 'failed', 'buried', 'retrying') AS has_run,
           CASE WHEN state IN ('succeeded', 'failed', 'buried', 'retrying') THEN i ELSE 0 END AS fence,
           CASE WHEN state IN ('succeeded', 'failed', 'buried', 'retrying') THEN 3
                WHEN state = 'cancelled' THEN 2 ELSE 1 END AS steps,
           CASE WHEN state IN ('scheduled', 'retrying') THEN ended_at + {{ms}} * {_DAY} END AS due_at,
           CASE WHEN state IN ('failed', 'buried')
                THEN (SELECT definition FROM tenure.line WHERE id = told.line)
                     || ':00000000000' || ((i * 13) % 10)
           END AS fingerprint,
           CASE WHEN i % 20 = 0 THEN '["{TAG}"]' END AS tags
      FROM told;
"""
_WRITTEN = """
    INSERT INTO tenure.job (id, line, priority, max_attempts, created_at, timeout_ms, grace_ms,
                            backoff_base_ms, backoff_cap_ms, on_lost, namespace, scope, params, tags, mark)
    SELECT id, line, 0, 3, at, 60000, 5000, 1000, 60000, 'retry', 'default', '', {params}, tags, mark
      FROM past;
    INSERT INTO tenure.job_state (id, line, rank, max_attempts, state, n, fence, seq, updated_at, due_at,
                                  queued_at, started_at, finished_at, attempt, failures, has_result)
    SELECT id, line, 0, 3, {state}, steps, fence, i, ended_at, due_at, at,
           CASE WHEN has_run THEN started_at END,
           CASE WHEN state IN ('succeeded', 'failed', 'buried', 'cancelled') THEN ended_at END,
           CASE WHEN has_run THEN 1 ELSE 0 END, CASE WHEN has_run AND state <> 'succeeded' THEN 1 ELSE 0 END,
           state = 'succeeded'
      FROM past;
    INSERT INTO tenure.event (job, n, source, target, attempt, fence, at, type, actor, mark)
    SELECT id, 2, 'queued', 'running', 1, fence, started_at, 'started', 'past', mark FROM past WHERE has_run;
    INSERT INTO tenure.event (job, n, source, target, attempt, fence, at, type, actor, mark)
    SELECT id, steps, CASE WHEN has_run THEN {running} ELSE {queued} END, {state}, 1, fence, ended_at, state,
           'past', mark
      FROM past WHERE steps > 1;
    INSERT INTO tenure.attempt (job, fence, started_at, ended_at, number, ending, worker, cpu_ms, peak_bytes,
                                error)
    SELECT id, fence, started_at, ended_at, 1,
           CASE state WHEN 'succeeded' THEN 'succeeded' WHEN 'failed' THEN 'unrecoverable'
                      WHEN 'buried' THEN 'lost' ELSE 'recoverable' END,
           'past', 340, 50000000, CASE WHEN state IN ('failed', 'retrying') THEN {error} END
      FROM past WHERE has_run;
    INSERT INTO tenure.log (job, fence, n, at, level, text)
    SELECT id, fence, 1, started_at, 'info', 'hello' FROM past WHERE has_run;
    INSERT INTO tenure.result (job, body) SELECT id, '{{}}' FROM past WHERE state = 'succeeded';
    INSERT INTO tenure.finished (state, job, at, fingerprint)
    SELECT {state}, id, ended_at, fingerprint FROM past WHERE state IN ('failed', 'cancelled', 'buried');
    INSERT INTO tenure.tag (name, job) SELECT {tag}, id FROM past WHERE tags IS NOT NULL;
    INSERT INTO tenure.ready (line, rank, seq, job) SELECT line, 0, i, id FROM past WHERE state = 'queued';
    INSERT INTO tenure.timer (due_at, job, kind)
    SELECT due_at, id, CASE WHEN state = 'retrying' THEN 'retry' ELSE 'scheduled' END
      FROM past WHERE due_at IS NOT NULL;
    INSERT INTO tenure.tally (line, state, n) SELECT line, {state}, count(*) FROM past GROUP BY line, state;
    INSERT INTO tenure.pace (minute_at, ended, waits, runs)
    SELECT minute_at,
           '{{"succeeded":' || sum(succeeded) OVER whole || ',"failed":' || sum(failed) OVER whole
           || ',"buried":' || sum(buried) OVER whole || ',"cancelled":' || sum(cancelled) OVER whole || '}}',
           '{{"33":200,"36":300,"39":190}}', '{{"40":200,"44":300,"48":190}}'
      FROM (SELECT {minute} AS minute_at, sum(CASE WHEN state = 'succeeded' THEN 1 ELSE 0 END) AS succeeded,
                   sum(CASE WHEN state = 'failed' THEN 1 ELSE 0 END) AS failed,
                   sum(CASE WHEN state = 'buried' THEN 1 ELSE 0 END) AS buried,
                   sum(CASE WHEN state = 'cancelled' THEN 1 ELSE 0 END) AS cancelled
              FROM past GROUP BY 1) by_minute
    WINDOW whole AS (ORDER BY minute_at);
"""
_TRIGGERS = "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'"
_NUMBERED_IN_SQLITE = "UPDATE tenure_sequence SET n = :jobs WHERE name IN ('place', 'fence', 'mark')"
_NUMBERED_IN_POSTGRES = "SELECT setval('tenure.place', {jobs}), setval('tenure.lease_id_seq', {jobs})"
# The feed ends before the oldest transaction in flight: marks must be those of transactions that are over.
_USE_UP_TRANSACTIONS = """
    DO $$ BEGIN FOR i IN 0..{marks} LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$
"""
_TOGETHER = 100
"""Jobs of one transaction."""

_SQLITE = {
    "whole": "INTEGER",
    "ms": "1000",
    "mark": f"1 + i / {_TOGETHER}",
    "id": "printf('%08x-%04x-7000-8000-%012x', (at / 1000) >> 16, (at / 1000) & 65535, i)",
    "minute": "(ended_at / 60000000 + 1) * 60000000",
    "state": "state",
    "running": "'running'",
    "queued": "'queued'",
}
_POSTGRES = {
    "whole": "bigint",
    "ms": "interval '1 ms'",
    "id": "(lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '70008000'"
    " || lpad(to_hex(i), 12, '0'))::uuid",
    "minute": "date_trunc('minute', ended_at) + interval '1 minute'",
    "state": "state::tenure.state",
    "running": "'running'::tenure.state",
    "queued": "'queued'::tenure.state",
}


def fill_sqlite(path: Path, jobs: int) -> None:
    """Write the past into a file with LINES in which nothing else has happened."""
    text = _past(jobs, {**_SQLITE, "begin": str(micros(_begin()))}).replace("tenure.", "tenure_")
    connection = apsw.Connection(str(path))
    connection.execute("BEGIN")
    # What is on record is not born finished: the guards stand aside while it is written.
    guards = list(connection.execute(_TRIGGERS))
    for name, _ in guards:
        connection.execute(f"DROP TRIGGER {name}")
    connection.execute(text)
    connection.execute(_NUMBERED_IN_SQLITE, {"jobs": jobs})
    for _, guard in guards:
        connection.execute(str(guard))
    connection.execute("COMMIT; DROP TABLE past; PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


async def fill_postgres(dsn: str, jobs: int) -> None:
    """The same in a database whose server obeys."""
    connection = await asyncpg.connect(dsn)
    try:
        first = await connection.fetchval("SELECT pg_current_xact_id()::text::bigint")
        await connection.execute(_USE_UP_TRANSACTIONS.format(marks=jobs // _TOGETHER))
        names = {
            **_POSTGRES,
            "begin": f"'{_begin().isoformat()}'::timestamptz",
            "mark": f"{first} + i / {_TOGETHER}",
        }
        await connection.execute("SET session_replication_role = replica")
        await connection.execute(_past(jobs, names))
        await connection.execute(_NUMBERED_IN_POSTGRES.format(jobs=jobs))
    finally:
        await connection.close()


async def prepare(store: Store) -> None:
    """Let there be definitions and lines, before there is a past."""
    await store.migrate()
    specs = [Spec(key=line.definition, queue=line.queue) for line in LINES]
    await store.put_definitions([Definition(key=spec.key, version=1, spec=spec.document()) for spec in specs])
    for line in LINES:  # one after the other, so that they are numbered in this order
        await store.enqueue([NewJob(definition=line.definition, queue=line.queue, hold=True)])


async def employ(store: Store) -> None:
    """Let workers run jobs, for as long as pages are measured."""
    for number in range(WORKERS):
        name = f"worker{number}"
        await store.enlist(
            WorkerInfo(id=name, host=f"host{number}", pid=number, version="1", slots=SLOTS, lines=LINES)
        )
        await store.settle_and_claim([], Order(worker=name, lines=LINES, limit=SLOTS, lease_for=_LEASE))


def _begin() -> datetime:
    return datetime.now(UTC) - timedelta(milliseconds=_DAY)


def _past(jobs: int, names: Mapping[str, str]) -> str:
    said = {"tag": f"'{TAG}'", "params": f"'{PARAMS}'", "error": f"'{ERROR}'", "jobs": jobs, **names}
    return _STAGE.format_map(said) + _WRITTEN.format_map(said)
