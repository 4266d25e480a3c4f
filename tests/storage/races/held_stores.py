"""Both stores, with one seam: a verb can be held between its statements and its commit."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TypeVar

import apsw
import asyncpg

from tenure.storage.contract.store import Store
from tenure.storage.postgres import schema as postgres_schema
from tenure.storage.postgres.claims.line_ids import LineIds
from tenure.storage.postgres.store import PostgresStore
from tenure.storage.postgres.wire.addresses import read_address
from tenure.storage.postgres.wire.pool import Connection, Pool
from tenure.storage.postgres.wire.transaction import Transaction
from tenure.storage.postgres.wire.wakeups import WakeupChannel
from tenure.storage.schema import migration
from tenure.storage.schema.migration import Migration
from tenure.storage.sqlite import schema as sqlite_schema
from tenure.storage.sqlite.file.clock import TransactionTime
from tenure.storage.sqlite.file.connection import Opening
from tenure.storage.sqlite.file.readers import Readers
from tenure.storage.sqlite.file.writer import Writer
from tenure.storage.sqlite.rows import micros
from tenure.storage.sqlite.store import SqliteStore

T = TypeVar("T")
Item = TypeVar("Item")

STEPPING = {
    "enqueue": ("enqueue.record", "enqueue.one", "enqueue.alike"),
    "give_up": ("give_up.mark",),
    "replay": ("replay.record",),
    "reschedule": ("reschedule.move",),
    "set_limit": ("set_limit.size",),
    "settle_and_claim": ("settle_and_claim.turn",),
}
"""The statements that move jobs, for verbs with several statements; otherwise it has the verb's name."""


IN_STEPS = frozenset(
    {
        "mend_place",
        "mend_timer",
        "mend_lease",
        "mend_slots",
        "strand",
        "add_webhook",
        "fan_out",
        "due_deliveries",
    }
)
"""Verbs of which all statements are in one transaction already."""


class Seam:
    """What happens inside the transaction of the next verb."""

    def __init__(self, hold: Callable[[], None]) -> None:
        self._hold = hold
        self.verb = ""
        self.holds = False
        self.at: datetime | None = None

    def set_for(self, verb: str, *, holds: bool, at: datetime | None) -> None:
        """Set the verb, whether it is held, and the store's time for it, if that changes."""
        self.verb, self.holds, self.at = verb, holds, at

    def before_commit(self) -> None:
        """Stop here until the verb may commit, if it is to be held."""
        if self.holds:
            self._hold()


class HoldingPool(Pool):
    """Runs the verb's statements inside an open transaction, and may stop before it is committed."""

    def __init__(self, dsn: str, seam: Seam) -> None:
        super().__init__(read_address(dsn), size=2, timeout=60.0)
        self._seam = seam

    async def run_with(self, statement: str, values: dict[str, object]) -> list[asyncpg.Record]:
        if not self._is_meant(statement):
            return await super().run_with(statement, values)
        [answer] = await self._run_and_hold((statement, values))
        return answer

    async def run_all(self, *steps: tuple[str, dict[str, object]]) -> list[list[asyncpg.Record]]:
        if not self._is_meant(steps[-1][0]):
            return await super().run_all(*steps)
        return await self._run_and_hold(*steps)

    async def transact(self, task: Callable[[Transaction], Awaitable[T]]) -> T:
        async def and_hold(run: Transaction) -> T:
            answer = await task(run)
            self._seam.before_commit()
            return answer

        return await super().transact(and_hold if self._seam.verb in IN_STEPS else task)

    def _is_meant(self, statement: str) -> bool:
        seam = self._seam
        verb, _, _form = statement.partition("+")
        return verb in STEPPING.get(seam.verb, (seam.verb,)) and (seam.holds or seam.at is not None)

    async def _run_and_hold(self, *steps: tuple[str, dict[str, object]]) -> list[list[asyncpg.Record]]:
        async def in_transaction(connection: Connection) -> list[list[asyncpg.Record]]:
            answers: list[list[asyncpg.Record]] = []
            async with connection.transaction():
                if self._seam.at:
                    await connection.execute("UPDATE tenure.test_clock SET at = $1", self._seam.at)
                for statement, values in steps:
                    text, arguments = self._bind(statement, values)
                    answers.append(await connection.fetch(text, *arguments))
                    if not answers[-1]:
                        break
                self._seam.before_commit()
            return answers

        return await self.run_task(in_transaction)


class HoldingWriter(Writer):
    """Runs the verb's task and may stop before the transaction around it is committed."""

    def __init__(self, path: Path, seam: Seam) -> None:
        super().__init__(path, Opening(patience=60.0))
        self._seam = seam

    async def run(
        self, task: Callable[[apsw.Connection, TransactionTime], T], *, rows: int = 1, is_urgent: bool = False
    ) -> T:
        # A transaction reads the time when it begins, so a later time is set by a transaction before it.
        at = self._seam.at
        if at is not None:
            await super().run(
                lambda connection, _: connection.execute("UPDATE tenure_test_clock SET at = ?", (micros(at),))
            )

        def held(connection: apsw.Connection, now: TransactionTime) -> T:
            answer = task(connection, now)
            self._seam.before_commit()
            return answer

        return await super().run(held, rows=rows, is_urgent=is_urgent)

    async def run_on(
        self,
        work: Callable[[apsw.Connection, TransactionTime, Sequence[Item]], list[T]],
        items: Sequence[Item],
    ) -> list[T]:
        return await self.run(lambda connection, turn: work(connection, turn, items))


class _HeldPostgres(PostgresStore):
    def __init__(self, dsn: str, seam: Seam) -> None:
        super().__init__(dsn)
        self._seam = seam
        self._pool = HoldingPool(dsn, seam)
        self._lines = LineIds(self._pool)
        self._wakeups = WakeupChannel(self._pool, enabled=False, on_queued=self._scans.note_hint)

    async def migrate_further(self, reads_from: int) -> str | None:
        """Apply one migration more than this code has, as a newer version would."""

        async def in_transaction(connection: Connection) -> Migration | None:
            async with connection.transaction():
                applied = await postgres_schema.apply_next(connection)
                self._seam.before_commit()
            return applied

        with _one_more(reads_from):
            applied = await self._pool.run_task(in_transaction)
        return applied and applied.name


class _HeldSqlite(SqliteStore):
    def __init__(self, path: str, seam: Seam) -> None:
        super().__init__(path)
        self._writer = HoldingWriter(self._path, seam)
        self._readers = Readers(self._path, Opening(), self._writer)

    async def migrate_further(self, reads_from: int) -> str | None:
        """The same."""
        with _one_more(reads_from):
            applied = await self._writer.run(sqlite_schema.apply_next)
        return applied and applied.name


@contextmanager
def _one_more(reads_from: int) -> Iterator[None]:
    """Make this process know one migration more. It changes no table: only who may go on is at stake."""
    known = migration.known

    def and_one_more(package: str) -> list[Migration]:
        own = known(package)
        return [*own, Migration(own[-1].number + 1, "from_the_future", "SELECT 1", reads_from)]

    migration.known = and_one_more
    try:
        yield
    finally:
        migration.known = known


def store_with(seam: Seam, url: str) -> Store:
    """The store that an address names, with the seam in it, not yet opened."""
    if url.startswith("sqlite:///"):
        return _HeldSqlite(url.removeprefix("sqlite:///"), seam)
    return _HeldPostgres(url, seam)
