"""Connections to PostgreSQL.

No caller waits longer than the timeout, whatever happens to the server and the network: not for a connection,
not for an answer, and not for the driver, which cleans up after a statement that was cancelled.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from time import monotonic
from typing import Any, TypeVar
from urllib.parse import urlsplit

import asyncpg

from tenure.core.errors import StoreUnavailable
from tenure.storage.postgres.wire.deadlines import Deadlines
from tenure.storage.postgres.wire.errors import DRIVER_ERRORS, Collision, translate
from tenure.storage.postgres.wire.in_use import InUse
from tenure.storage.postgres.wire.literals import prepare
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
# To release a connection to the driver and acquire it again costs a task, two timers and two rounds of the
# event loop. So the last ones used are kept; one that was idle for long may be dead without notice, and is
# not used again.
_MOST_IDLE = 2
_IDLE_FOR = 300.0
# Seconds for a statement that reads all of history.
_SURVEY_TIMEOUT = 600.0
# The standard loop reads each answer into a new block of 256 KiB. glibc takes such a block from the system
# and returns it, which costs twice as much as the rest of reading, until the process has freed a larger one:
# from then on it keeps them.
_LARGER_BLOCK = 2**20


class Pool:
    """Runs statements by name. None relies on session state: a transaction-mode pooler may be in between."""

    def __init__(self, dsn: str, *, pooled: bool, size: int, timeout: float) -> None:
        self._dsn = dsn
        self._options: dict[str, Any] = _POOLED if pooled else _DIRECT
        self._size = size
        self._timeout = timeout
        self._deadlines = Deadlines()
        self._opening = asyncio.Lock()
        self._pool: asyncpg.Pool | None = None
        self._in_use = InUse()
        self._idle: list[tuple[asyncpg.pool.PoolConnectionProxy, float]] = []
        self._waiting = 0
        self._statements = {
            name: prepare(text) for name, text in statements.load("tenure.storage.postgres").items()
        }

    async def open(self) -> None:
        """Connect once, to be sure that the server answers."""
        async with self._opening:
            if self._pool is None:
                bytes(_LARGER_BLOCK)  # freed at once
                self._pool = await self._connect()

    async def _connect(self) -> asyncpg.Pool:
        # With a minimum size the driver would reconnect again and again in the background, and callers that
        # need a connection would wait for that.
        pool = await asyncpg.create_pool(
            self._dsn,
            min_size=0,
            max_size=self._size,
            timeout=self._timeout,
            reset=_reset_nothing,
            **self._options,
        )
        try:
            await self._release(pool, await self._acquire(pool, self._deadline()))
        except BaseException:
            pool.terminate()
            raise
        return pool

    async def close(self) -> None:
        """Disconnect after the statements under way have ended, or after the timeout."""
        async with self._opening:
            if self._pool is not None:
                pool, self._pool = self._pool, None
                await self._in_use.wait_idle(self._timeout)
                while self._idle:
                    await self._release(pool, self._idle.pop()[0])
                try:
                    async with asyncio.timeout(self._timeout):
                        await pool.close()
                except DRIVER_ERRORS:
                    pool.terminate()
                self._deadlines.forget()

    def run(self, statement: str, /, **values: object) -> Coroutine[Any, Any, list[asyncpg.Record]]:
        """Run one statement in a transaction of its own; once more after a collision."""
        return self.run_with(statement, values)

    async def run_with(self, statement: str, values: dict[str, Any]) -> list[asyncpg.Record]:
        """`run`, with the values in a dict."""
        text, arguments = self._bind(statement, values)
        deadline = monotonic() + self._timeout

        def fetch(connection: Connection) -> Awaitable[list[asyncpg.Record]]:
            return connection.fetch(text, *arguments)

        self._in_use.enter()
        try:
            pool = self._open_pool()
            try:
                return await self._with_connection(pool, deadline, fetch)
            except Collision:
                return await self._with_connection(pool, deadline, fetch)
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
            pool = self._open_pool()
            try:
                return await self._with_connection(pool, deadline, in_one)
            except Collision:
                return await self._with_connection(pool, deadline, in_one)

    async def execute(self, text: str) -> None:
        """Run SQL text without values, which is sent too seldom to be worth preparing."""
        with self._in_use:
            await self._with_connection(
                self._open_pool(), self._deadline(), lambda connection: connection.execute(text)
            )

    async def connect(self, **options: Any) -> asyncpg.Connection:
        """Open a connection outside the pool, which the caller closes."""
        try:
            async with asyncio.timeout(self._timeout):
                return await asyncpg.connect(self._dsn, **options)
        except DRIVER_ERRORS as error:
            raise translate(error, self._where(), sent=False) from error

    async def run_task(self, task: Callable[[Connection], Awaitable[T]]) -> T:
        """Run a task of several statements on one connection; the timeout is for all of them."""
        with self._in_use:
            return await self._with_connection(self._open_pool(), self._deadline(), task)

    async def run_long_task(self, task: Callable[[Connection], Awaitable[T]]) -> T:
        """Run a long task on a connection of its own; the timeout is for each of its statements."""
        with self._in_use:
            self._open_pool()
            connection = await self.connect(command_timeout=self._timeout, **self._options)
            try:
                return await task(connection)
            except DRIVER_ERRORS as error:
                raise translate(error, self._where()) from error
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
        prepared = self._statements[statement]
        return prepared.text, prepared.arguments(values)

    def _open_pool(self) -> asyncpg.Pool:
        if self._pool is None:
            raise StoreUnavailable("the store is not open: call open() first")
        return self._pool

    def _deadline(self) -> float:
        return monotonic() + self._timeout  # every loop uses this clock

    async def _with_connection(
        self, pool: asyncpg.Pool, deadline: float, task: Callable[[Connection], Awaitable[T]]
    ) -> T:
        connection = self._take_idle() or await self._acquire(pool, deadline)
        try:
            # The driver's own timeout is not enough: while it closes another statement, it waits without
            # limit.
            answer = await self._deadlines.keep(deadline, task(connection))
        except (TimeoutError, asyncio.CancelledError) as error:
            # The driver has the server cancel the statement, and waits for that; our caller does not.
            release = asyncio.create_task(self._release(pool, connection))
            self._in_use.enter()
            release.add_done_callback(lambda _: self._in_use.leave())
            if isinstance(error, asyncio.CancelledError):
                raise
            raise translate(error, self._where()) from error
        except BaseException as error:
            await self._release(pool, connection)
            if isinstance(error, DRIVER_ERRORS):
                raise translate(error, self._where()) from error
            raise
        # A caller that waits for the driver to free a connection would not notice one that is idle here.
        if self._waiting or len(self._idle) == _MOST_IDLE or self._pool is not pool:
            await self._release(pool, connection)
        else:
            self._idle.append((connection, monotonic()))
        return answer

    def _take_idle(self) -> asyncpg.pool.PoolConnectionProxy | None:
        """The connection that was used last, if it is idle and usable."""
        if self._idle:
            connection, since = self._idle[-1]
            if monotonic() - since < _IDLE_FOR and not _is_closed(connection):
                return self._idle.pop()[0]
        return None

    async def _acquire(self, pool: asyncpg.Pool, deadline: float) -> asyncpg.pool.PoolConnectionProxy:
        while self._idle:
            connection, since = self._idle.pop()
            if not _is_closed(connection):
                if monotonic() - since < _IDLE_FOR:
                    return connection
                connection.terminate()
            await self._release(pool, connection)
        self._waiting += 1
        try:
            async with asyncio.timeout_at(deadline):
                return await pool.acquire()
        except DRIVER_ERRORS as error:
            raise translate(error, self._where(), sent=False) from error
        finally:
            self._waiting -= 1

    async def _release(self, pool: asyncpg.Pool, connection: asyncpg.pool.PoolConnectionProxy) -> None:
        try:
            await pool.release(connection, timeout=self._timeout)
        except DRIVER_ERRORS:
            # The connection is broken, and the pool has dropped it; no caller has to know.
            pass

    def _where(self) -> str:
        parts = urlsplit(self._dsn)
        return f"{parts.hostname or 'local socket'}:{parts.port or 5432}/{parts.path.lstrip('/')}"


def _is_closed(connection: asyncpg.pool.PoolConnectionProxy) -> bool:
    try:
        return connection.is_closed()
    except asyncpg.InterfaceError:  # the driver has removed the closed connection from its proxy
        return True


async def _reset_nothing(_connection: asyncpg.Connection) -> None:
    """Statements leave nothing behind in the session, so a reset would only cost a round trip."""
