"""How PostgreSQL plans each statement: tables that grow with history are never scanned."""

import re
from datetime import timedelta
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from tenure.core.values.bounds import LARGEST_FEED
from tenure.storage.postgres.store import PostgresStore
from tenure.storage.postgres.wire.pool import Connection
from tenure.storage.schema import statements
from tests.storage.backends import PostgresBackend
from tests.storage.clock import START
from tests.storage.postgres.conftest import each_version

database_kind = each_version
READS_ALL = {"inspect"}
"""Statements that are run by hand, now and then, and read every job."""

STATEMENTS = {
    name: text for name, text in statements.load("tenure.storage.postgres").items() if name not in READS_ALL
}
GROWS_WITH_HISTORY = "job|job_state|event|attempt|log|result|ready|timer|tag|finished|aftermath|delivery"
BACKLOG = """
    INSERT INTO tenure.line (queue, definition, version) VALUES ('default', 'mail', 1);
    INSERT INTO tenure.job (id, line, priority, max_attempts, created_at, timeout_ms, grace_ms,
                            backoff_base_ms, backoff_cap_ms, on_lost, namespace, scope, params)
    SELECT gen_random_uuid(), 1, 0, 3, tenure.now(), 1, 1, 1, 1, 'retry', 'default', '', '{}'
      FROM generate_series(1, 20000);
    INSERT INTO tenure.job_state (id, line, rank, max_attempts, state, n, seq, updated_at)
    SELECT id, 1, 0, 3, 'queued', 1, nextval('tenure.place'), tenure.now() FROM tenure.job;
    INSERT INTO tenure.ready (line, rank, seq, job) SELECT line, rank, seq, id FROM tenure.job_state;
    INSERT INTO tenure.timer (due_at, job, kind)
    SELECT tenure.now() + seq * interval '1 second', id, 'retry' FROM tenure.job_state;
    INSERT INTO tenure.event (job, n, source, target, attempt, fence, at, type, actor)
    SELECT id, 2, 'queued', 'running', 1, 1, tenure.now(), 'started', 'a' FROM tenure.job;
    INSERT INTO tenure.attempt (job, fence, started_at, ended_at, number, ending, worker)
    SELECT id, 1, tenure.now(), tenure.now(), 1, 'lost', 'a' FROM tenure.job;
    INSERT INTO tenure.log (job, fence, n, at, level, text)
    SELECT id, 1, 1, tenure.now(), 'info', 'hello' FROM tenure.job;
    INSERT INTO tenure.result (job, body) SELECT id, '{}' FROM tenure.job;
    INSERT INTO tenure.tag (name, job) SELECT 'red', id FROM tenure.job;
    INSERT INTO tenure.finished (state, job, at, fingerprint)
    SELECT 'failed', id, tenure.now(), 'mail:000000000000' FROM tenure.job;
    INSERT INTO tenure.aftermath (queue, definition, version, job)
    SELECT 'default', 'mail', 1, id FROM tenure.job;
    INSERT INTO tenure.webhook (id, spec, begins_behind, created_at, updated_at, count_at)
    SELECT id, '{}', '0', created_at, created_at, created_at FROM tenure.job LIMIT 3;
    INSERT INTO tenure.delivery (webhook, message, type, at, job, n, body, noted_at, next_at)
    SELECT webhook.id, 'msg_' || job.id, 'started', job.created_at, job.id, 2, '{}', job.created_at,
           job.created_at
      FROM tenure.webhook CROSS JOIN tenure.job;
"""
SAMPLES: dict[str, Any] = {
    "integer": 1,
    "smallint": 0,
    "bigint": 1,
    "boolean": False,
    "text": "default",
    "bytea": b"",
    "interval": timedelta(0),
    "timestamptz": START,
    "tenure.state": "failed",
}
BATCH = 10


def sample(kind: str, ids: list[Any]) -> object:
    """A value as a call would send it: lists stand for a batch."""
    if kind.startswith("uuid"):
        return ids if kind == "uuid[]" else ids[0]
    return [SAMPLES[kind[:-2]]] * BATCH if kind.endswith("[]") else SAMPLES[kind]


async def test_no_statement_scans_a_table_that_grows_with_history(backend: PostgresBackend) -> None:
    """As a pooled store plans: anew for each call, by what the tables hold."""
    connection = await asyncpg.connect(backend.dsn)
    await connection.execute(BACKLOG)
    await connection.execute("ANALYZE")
    ids = [row["id"] for row in await connection.fetch("SELECT id FROM tenure.job LIMIT $1", BATCH)]
    scans = {}
    for name, text in STATEMENTS.items():
        numbered = statements.numbered(text)
        values = [sample(kind, ids) for kind in kinds(text)]
        plan = [row[0] for row in await connection.fetch(f"EXPLAIN {numbered.text}", *values)]
        scans[name] = whole_scans(plan)
    await connection.close()
    assert {name: found for name, found in scans.items() if found} == {}


@pytest.mark.parametrize("limit", [1_000, LARGEST_FEED])
async def test_a_long_piece_of_the_feed_is_looked_up_event_by_event(
    backend: PostgresBackend, limit: int
) -> None:
    """However many are wanted, their jobs are not found by reading the whole table."""
    connection = await asyncpg.connect(backend.dsn)
    await connection.execute(BACKLOG)
    await connection.execute("ANALYZE")
    numbered = statements.numbered(STATEMENTS["feed"])
    values = {"mark": 1, "job": UUID(int=0), "n": 0, "limit": limit}
    plan = await connection.fetch(f"EXPLAIN {numbered.text}", *(values[name] for name in numbered.names))
    await connection.close()
    assert whole_scans([row[0] for row in plan]) == []


async def test_a_plan_made_while_the_tables_were_empty_is_still_good_when_they_are_full(
    store: PostgresStore,
) -> None:
    """As a direct store plans: once a connection, which may well be the very first one."""
    scans = {}
    for name, text in STATEMENTS.items():
        numbered = statements.numbered(text)
        nothing = ", ".join(f"NULL::{kind}" for kind in kinds(text))

        async def explain(
            connection: Connection, prepare: str = numbered.text, given: str = nothing
        ) -> list[asyncpg.Record]:
            await connection.execute(f"PREPARE plan AS {prepare}")
            plan = await connection.fetch(f"EXPLAIN EXECUTE plan {f'({given})' if given else ''}")
            await connection.execute("DEALLOCATE plan")
            return plan

        scans[name] = whole_scans([row[0] for row in await store._pool.run_task(explain)])
    assert {name: found for name, found in scans.items() if found} == {}


def kinds(text: str) -> list[str]:
    """The types of a statement's values, in their order."""
    by_name = dict(re.findall(r"(?<![:\w]):([a-z_]+)::([a-z0-9.]+(?:\[\])?)", text))
    return [by_name[name] for name in statements.numbered(text).names]


def whole_scans(plan: list[str]) -> list[str]:
    """The steps that read all of a table or of its index."""
    return [
        step
        for step, after in zip(plan, [*plan[1:], ""], strict=True)
        if re.search(rf"Seq Scan on ({GROWS_WITH_HISTORY})\b", step)
        or (
            re.search(rf"Index (Only )?Scan using \w+ on ({GROWS_WITH_HISTORY})\b", step)
            and "Cond:" not in after
        )
    ]
