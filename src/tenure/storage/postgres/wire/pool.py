"""Connections to PostgreSQL.

No caller waits longer than the timeout, whatever happens to the server and the network: not for a connection,
not for an answer, and not for the driver, which cleans up after a statement that was cancelled.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from time import monotonic
from typing import Any, Protocol, TypeVar

import asyncpg

from tenure.core.errors import StoreUnavailable
from tenure.core.signals import Announce
from tenure.storage.postgres.wire.addresses import PostgresAddress
from tenure.storage.postgres.wire.connections import Connections, Urgency
from tenure.storage.postgres.wire.deadlines import Deadlines
from tenure.storage.postgres.wire.errors import DRIVER_ERRORS, Collision, is_read_only, translate
from tenure.storage.postgres.wire.in_use import InUse
from tenure.storage.postgres.wire.literals import Prepared, prepare
from tenure.storage.postgres.wire.own_connection import OwnConnection
from tenure.storage.postgres.wire.servers import Servers
from tenure.storage.postgres.wire.transaction import Connection, Transaction
from tenure.storage.schema import statements

__all__ = ["Connection", "Pool"]

T = TypeVar("T")

# Statements are long and few, so each connection plans them once, by index. Planning each time would cost the
# server 1.5 times the work at a hundred jobs a batch, 2.5 times at one. Without the second setting, a plan
# made while the tables were empty would scan them when they are full.
_DIRECT = {
    "server_settings": {"plan_cache_mode": "force_generic_plan", "enable_seqscan": "off", "jit": "off"}
}
# A pooler passes each transaction to any backend: it takes no settings, and a statement prepared on one
# backend is unknown to the next.
_POOLED = {"statement_cache_size": 0}
# Seconds for a statement that reads all of history.
_SURVEY_TIMEOUT = 600.0
# The standard loop reads each answer into a new block of 256 KiB. glibc takes such a block from the system
# and returns it, which costs twice as much as the rest of reading, until the process has freed a larger one:
# from then on it keeps them.
_LARGER_BLOCK = 2**20


# Statements of which a worker's turn consists; all others wait behind them for a connection.
_TURN = ("settle_and_claim", "hand_back", "record", "keep_steps", "suspend")


class Home(Protocol):
    """Where a connection was borrowed from."""

    def give_back(self, connection: Connection) -> None:
        """It is in order."""

    def set_aside(self, connection: Connection) -> None:
        """It is being put in order, which may take long."""

    def drop(self, connection: Connection) -> None:
        """It cannot be used any more."""


class Pool:
    """Runs statements by name. None relies on session state: a transaction-mode pooler may be in between."""

    def __init__(
        self,
        address: PostgresAddress,
        *,
        size: int,
        timeout: float,
        for_worker: bool = False,
        on_signal: Announce = lambda _: None,
    ) -> None:
        """`size` is the most connections for statements.

        `for_worker`: beside them the heartbeat has one of its own, and statements wait for a connection as
        long as the server has none to spare.
        """
        self._servers = Servers(address, _POOLED if address.pooled else _DIRECT)
        self._timeout = timeout
        self._waits_long = for_worker
        self._deadlines = Deadlines()
        self._opening = asyncio.Lock()
        self._is_open = False
        self._in_use = InUse()
        self._recoveries: set[asyncio.Task[None]] = set()
        self.connections = Connections(
            self._servers, most=size, timeout=timeout, waits_long=for_worker, on_signal=on_signal
        )
        self._own = OwnConnection(self._servers, self.connections) if for_worker else None
        self._texts = statements.load("tenure.storage.postgres")
        self._statements: dict[str, Prepared] = {}

    async def open(self) -> None:
        """Connect once, to be sure that the server answers; the heartbeat's own connection comes first."""
        async with self._opening:
            if not self._is_open:
                bytes(_LARGER_BLOCK)  # freed at once
                self.connections.open()
                try:
                    await self._connect()
                except BaseException:
                    await self._disconnect()
                    raise
                self._is_open = True

    async def _connect(self) -> None:
        deadline = self._deadline()
        if self._own is not None:
            self._own.give_back(await self._own.take(deadline))
        self.connections.give_back(await self.connections.take(deadline, Urgency.TURN))

    async def close(self) -> None:
        """Disconnect after the statements under way have ended, or after the timeout."""
        async with self._opening:
            if self._is_open:
                self._is_open = False
                await self._in_use.wait_idle(self._timeout)
                await self._disconnect()

    async def _disconnect(self) -> None:
        if self._own is not None:
            self._own.close()
        await self.connections.close()
        self._deadlines.forget()

    def run(self, statement: str, /, **values: object) -> Coroutine[Any, Any, list[asyncpg.Record]]:
        """Run one statement in a transaction of its own; once more after a collision."""
        return self.run_with(statement, values)

    async def run_with(self, statement: str, values: dict[str, Any]) -> list[asyncpg.Record]:
        """`run`, with the values in a dict."""
        text, arguments = self._bind(statement, values)
        deadline = monotonic() + self._timeout
        own = self._own if statement == "heartbeat" else None

        def fetch(connection: Connection) -> Awaitable[list[asyncpg.Record]]:
            return connection.fetch(text, *arguments)

        self._in_use.enter()
        try:
            self._require_open()
            try:
                return await self._with_connection(deadline, fetch, statement, own)
            except Collision:
                return await self._with_connection(deadline, fetch, statement, own)
        finally:
            self._in_use.leave()

    async def run_all(self, *steps: tuple[str, dict[str, object]]) -> list[list[asyncpg.Record]]:
        """Run statements in one transaction, up to the first without rows; returns the rows of each."""

        async def in_turn(run: Transaction) -> list[list[asyncpg.Record]]:
            rows: list[list[asyncpg.Record]] = []
            for statement, values in steps:
                rows.append(await run(statement, **values))
                if not rows[-1]:
                    break
            return rows

        return await self.transact(in_turn)

    async def transact(self, task: Callable[[Transaction], Awaitable[T]]) -> T:
        """Run a task in one transaction, which is passed to it; if it raises, everything is rolled back."""
        deadline = self._deadline()

        async def in_one(connection: Connection) -> T:
            # Not the database's default: the second statement must see what the first waited for.
            async with connection.transaction(isolation="read_committed"):
                return await task(Transaction(connection, self._bind))

        with self._in_use:
            self._require_open()
            try:
                return await self._with_connection(deadline, in_one)
            except Collision:
                return await self._with_connection(deadline, in_one)

    async def execute(self, text: str) -> None:
        """Run SQL text without values, which is sent too seldom to be worth preparing."""
        with self._in_use:
            self._require_open()
            await self._with_connection(self._deadline(), lambda connection: connection.execute(text))

    async def connect(self, **options: Any) -> Connection:
        """Open a connection beside the others, which the caller closes."""
        return await self._servers.connect(self._deadline(), **options)

    async def run_task(self, task: Callable[[Connection], Awaitable[T]]) -> T:
        """Run a task of several statements on one connection; the timeout is for all of them."""
        with self._in_use:
            self._require_open()
            return await self._with_connection(self._deadline(), task)

    async def run_long_task(self, task: Callable[[Connection], Awaitable[T]]) -> T:
        """Run a long task on a connection of its own; the timeout is for each of its statements."""
        with self._in_use:
            self._require_open()
            connection = await self.connect(command_timeout=self._timeout)
            try:
                return await task(connection)
            except DRIVER_ERRORS as error:
                raise translate(error, self._servers.where) from error
            finally:
                connection.terminate()

    async def survey(self, statement: str, /, **values: object) -> list[asyncpg.Record]:
        """Run one statement that reads whole tables: planned for that, and with a long timeout."""
        text, arguments = self._bind(statement, values)

        async def read(connection: Connection) -> list[asyncpg.Record]:
            async with connection.transaction(readonly=True):
                await connection.execute("SET LOCAL enable_seqscan = on")
                return await connection.fetch(text, *arguments, timeout=_SURVEY_TIMEOUT)

        return await self.run_long_task(read)

    def _bind(self, statement: str, values: Mapping[str, Any]) -> tuple[str, Sequence[Any]]:
        prepared = self._statements.get(statement)
        if prepared is None:
            prepared = self._statements[statement] = prepare(self._texts[statement])
        return prepared.text, prepared.arguments(values)

    def _require_open(self) -> None:
        if not self._is_open:
            raise StoreUnavailable("the store is not open: call open() first")

    def _deadline(self) -> float:
        return monotonic() + self._timeout  # every loop uses this clock

    async def _with_connection(
        self,
        deadline: float,
        task: Callable[[Connection], Awaitable[T]],
        statement: str = "",
        own: OwnConnection | None = None,
    ) -> T:
        if own is not None and not own.is_lent:
            return await self._use(await own.take(deadline), own, self._deadline(), task)
        connection = self.connections.take_idle()
        if connection is None:
            connection = await self.connections.take(deadline, _urgency(statement))
            if self._waits_long:
                deadline = self._deadline()
        return await self._use(connection, self.connections, deadline, task)

    async def _use(
        self, connection: Connection, home: Home, deadline: float, task: Callable[[Connection], Awaitable[T]]
    ) -> T:
        try:
            # The driver's own timeout is not enough: while it closes another statement, it waits without
            # limit.
            answer = await self._deadlines.keep(deadline, task(connection))
        except (TimeoutError, asyncio.CancelledError) as error:
            # The driver has the server cancel the statement, and waits for that; our caller does not.
            self._recover_later(connection, home)
            if isinstance(error, asyncio.CancelledError):
                raise
            raise translate(error, self._servers.where) from error
        except BaseException as error:
            if is_read_only(error):
                # The others lead to the same server. The next statement looks for the one that takes writes.
                home.drop(connection)
                self.connections.expire()
            elif not connection.is_closed() and connection.is_in_transaction():
                self._recover_later(connection, home)
            else:
                home.give_back(connection)
            if isinstance(error, DRIVER_ERRORS):
                raise translate(error, self._servers.where) from error
            raise
        home.give_back(connection)
        return answer

    def _recover_later(self, connection: Connection, home: Home) -> None:
        home.set_aside(connection)
        self._in_use.enter()
        recovery = asyncio.create_task(self._recover(connection, home))
        self._recoveries.add(recovery)
        recovery.add_done_callback(self._on_recovery)

    def _on_recovery(self, recovery: "asyncio.Task[None]") -> None:
        self._recoveries.discard(recovery)
        self._in_use.leave()

    async def _recover(self, connection: Connection, home: Home) -> None:
        """Wait until a cancelled statement has ended on the server too, or drop the connection."""
        try:
            async with asyncio.timeout(self._timeout):
                await connection.reset()
        except DRIVER_ERRORS:
            home.drop(connection)
            self.connections.expire()
        else:
            home.give_back(connection)


def _urgency(statement: str) -> Urgency:
    if statement == "heartbeat":
        return Urgency.HEARTBEAT
    return Urgency.TURN if statement.startswith(_TURN) else Urgency.OTHER
