"""A past in SQLite, and what SQLite counts itself: the steps of its machine, and of walks through tables."""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar, TypeVar
from uuid import UUID

import apsw

from tenure.core.reports.reading import Position
from tenure.storage.contract.store import Store
from tenure.storage.schema import statements
from tenure.storage.sqlite.file.clock import TransactionTime
from tenure.storage.sqlite.file.connection import Opening
from tenure.storage.sqlite.file.readers import Readers
from tenure.storage.sqlite.file.writer import Writer
from tenure.storage.sqlite.rows import micros
from tenure.storage.sqlite.store import SqliteStore
from tests.storage.backends import SqliteBackend
from tests.storage.clock import START
from tests.storage.touched.cost import Cost, Costs, add
from tests.storage.touched.history import LINES, PAST, Past, states_in_sql

T = TypeVar("T")
DAY = 86_400_000_000
_STAGE = f"""
    CREATE TEMP TABLE past AS
    WITH RECURSIVE
    counting (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM counting WHERE i < :all),
    numbered AS MATERIALIZED (
        SELECT i, i / 10 AS mark, :now - 60 * {DAY} + i * (30 * {DAY} / :all) AS at,
               CASE WHEN i % 5 = 0 THEN '["red"]' END AS tags,
               CASE WHEN i <= :jobs THEN 0 WHEN i % 4 = 0 THEN -10 ELSE -20 END AS rank,
               CASE WHEN i <= :jobs THEN 1 + i % {len(LINES)} WHEN i % 4 = 0 THEN 5 ELSE i % 4 END AS line,
               CASE WHEN i > :jobs THEN 'queued' ELSE {states_in_sql("i")} END AS state
          FROM counting)
    SELECT numbered.*,
           CASE WHEN state IN ('succeeded', 'failed', 'buried', 'retrying') THEN i ELSE 0 END AS fence,
           CASE WHEN state IN ('succeeded', 'failed', 'buried', 'retrying') THEN 3
                WHEN state = 'cancelled' THEN 2
                ELSE 1
           END AS steps,
           CASE WHEN state IN ('scheduled', 'retrying') THEN :now + {DAY} + i * 1000 END AS due_at,
           printf('%08x-%04x-7000-8000-%012x', (at / 1000) >> 16, (at / 1000) & 65535, i) AS id
      FROM numbered;
"""
_NUMBER_ON = "UPDATE tenure_sequence SET n = :all WHERE name IN ('place', 'fence', 'mark')"
_MIDDLE = "SELECT mark, id, steps FROM past WHERE i = :jobs / 2"
_TRIGGERS = "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'"


class SqlitePast(SqliteBackend):
    """A file of its own. SQLite has statistics of it only after it was analyzed."""

    ways: ClassVar[Mapping[str, str]] = {"as it was made": "as it was made", "analyzed": "analyzed"}

    async def fill(self, past: Past) -> Position:
        numbers = {"jobs": past.jobs, "all": past.jobs + past.crowd, "now": micros(START)}
        connection = apsw.Connection(str(self.path))
        connection.execute("BEGIN")
        # Records do not start as finished: the guards are switched off while they are written.
        guards = list(connection.execute(_TRIGGERS))
        for name, _ in guards:
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute(_STAGE, numbers)
        connection.execute(PAST.replace("tenure.", "tenure_"))
        connection.execute(_NUMBER_ON, numbers)
        for _, guard in guards:
            connection.execute(str(guard))
        connection.execute("COMMIT")
        mark, job, n = connection.execute(_MIDDLE, numbers).get
        connection.close()
        return Position(mark, UUID(job), n)

    async def settle_down(self) -> None:
        """SQLite does nothing by itself."""

    @asynccontextmanager
    async def watched(self, way: str) -> AsyncIterator[tuple[Store, Costs]]:
        if way == "analyzed":
            await self.sql("ANALYZE")
        costs: Costs = {}
        named = {text: name for name, text in statements.load("tenure.storage.sqlite").items()}

        def watch(connection: apsw.Connection) -> None:
            connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, lambda run: _note(costs, named, run))

        apsw.connection_hooks.append(watch)
        store = WatchedStore(self.path)
        await store.open()
        yield store, costs
        await store.close()
        apsw.connection_hooks.remove(watch)


class UndoingWriter(Writer):
    """Rolls back what a task has done instead of committing it."""

    async def run(
        self, task: Callable[[apsw.Connection, TransactionTime], T], *, rows: int = 1, is_urgent: bool = False
    ) -> T:
        def undone(connection: apsw.Connection, turn: TransactionTime) -> T:
            connection.execute("SAVEPOINT undone")
            try:
                return task(connection, turn)
            finally:
                connection.execute("ROLLBACK TO undone; RELEASE undone")

        return await super().run(undone, rows=rows, is_urgent=is_urgent)


class WatchedStore(SqliteStore):
    """A store that leaves everything as it was."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._writer = UndoingWriter(path, Opening())
        self._readers = Readers(path, Opening(), self._writer)


def _note(costs: Costs, named: dict[str, str], run: dict[str, Any]) -> None:
    if name := named.get(run["sql"]):
        status = run["stmt_status"]
        for kind in ("VM_STEP", "FULLSCAN_STEP"):
            add(costs, f"{name}: {kind}", Cost(Counter({kind: status[f"SQLITE_STMTSTATUS_{kind}"]})))
