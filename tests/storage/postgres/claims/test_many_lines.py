"""Very many lines: the rows that PostgreSQL reads grow linearly at most, and for a turn not at all."""

import json
from collections import Counter
from typing import Any

import asyncpg
import pytest

from tenure.core.model.job import NewJob
from tenure.core.model.lease import Line, Order
from tenure.core.model.limit import Limit
from tenure.core.reports.operations import WorkerInfo
from tenure.core.reports.reading import Filter
from tenure.storage.postgres.claims.line_ids import LineIds
from tenure.storage.postgres.claims.statement_choice import PASSING
from tenure.storage.postgres.store import PostgresStore
from tenure.storage.postgres.wire.addresses import read_address
from tenure.storage.postgres.wire.pool import Connection, Pool
from tests.storage.backends import PostgresBackend
from tests.storage.verbs import claim, succeeded

LINES = tuple(Line(f"q{n % 7}", f"d{n}") for n in range(10_000))
SERVED = LINES[-2:]
API = Limit("api", size=20)


class ExplainedPool(Pool):
    """Counts the rows that pass through the steps of each statement's plan, filtered ones too."""

    def __init__(self, dsn: str) -> None:
        super().__init__(read_address(dsn), size=1, timeout=60)
        self.rows: Counter[str] = Counter()

    async def run_with(self, statement: str, values: dict[str, Any]) -> list[asyncpg.Record]:
        text, arguments = self._bind(statement, values)

        async def explained(connection: Connection) -> str:
            transaction = connection.transaction()
            await transaction.start()
            plan: str = await connection.fetchval(
                f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) {text}", *arguments
            )
            await transaction.rollback()
            return plan

        self.rows[statement] += _rows(json.loads(await self.run_task(explained))[0]["Plan"])
        return await super().run_with(statement, values)


class ExplainedStore(PostgresStore):
    """A store that counts the rows of its statements."""

    def __init__(self, dsn: str) -> None:
        super().__init__(dsn, notify=False)
        self._pool = ExplainedPool(dsn)
        self._lines = LineIds(self._pool)
        self.rows = self._pool.rows


def _rows(step: dict[str, Any]) -> int:
    in_vain = sum(step.get(f"Rows Removed by {kind}", 0) for kind in ("Filter", "Join Filter"))
    own = (step["Actual Rows"] + in_vain) * step["Actual Loops"]
    return int(own) + sum(_rows(part) for part in step.get("Plans", ()))


@pytest.mark.parametrize("known", ["as it was made", "analyzed"])
async def test_what_is_gone_through_does_not_grow_beyond_the_lines(
    backend: PostgresBackend, store: PostgresStore, known: str
) -> None:
    """Totals, pauses, workers and places are joined with lines by index, never all with all."""
    for lines in (LINES, SERVED * 40):
        await store.enqueue(
            [NewJob(queue=line.queue, definition=line.definition, limits=(API,)) for line in lines]
        )
    await store.enlist(WorkerInfo(id="a", host="here", pid=1, version="1", slots=1, lines=LINES))
    for line in LINES[:500]:
        await store.pause(line)
    if known == "analyzed":
        await backend.sql("ANALYZE")
    explained = ExplainedStore(backend.dsn)
    await explained.open()

    assert len(await explained.lines()) == len(LINES)
    assert len((await explained.page(Filter(queue="q3"))).jobs) == 50
    await explained.counts(Filter(queue="q3"))
    running = await claim(explained, limit=20, lines=SERVED)
    order = Order(worker="a", lines=SERVED, limit=20)
    turn = await explained.settle_and_claim([succeeded(one) for one in running], order)
    await explained.close()

    assert (len(running), len(turn.settled.accepted), len(turn.claimed)) == (20, 20, 20)
    assert explained.rows.pop(PASSING) < 5_000
    assert {name: rows for name, rows in explained.rows.items() if rows > 100 * len(LINES)} == {}
    assert explained.rows["lines"] > len(LINES)
