"""Connections to PostgreSQL, and the one place where its errors become ours."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar
from urllib.parse import urlsplit

import asyncpg

from tenure.core.errors import SchemaMismatch, StoreBusy, StoreError, StoreRefused, StoreUnavailable
from tenure.storage import statements

T = TypeVar("T")
Connection = asyncpg.Connection | asyncpg.pool.PoolConnectionProxy

_GUARD = "TN001"
_OUTAGE_CLASSES = ("08", "28", "3D", "53", "57", "58")
_DRIVER_ERRORS = (
    *(asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError),
    *(OSError, TimeoutError, ssl.SSLError, ValueError),
)
# Statements are long and few, and their plans are known beforehand: planned once a connection, by index.
# Planning anew each time costs the server 1.5 times the work at a hundred jobs a batch, 2.5 times at one.
# Without the second setting a plan made while the tables were empty would scan them when they are full.
_DIRECT = {
    "server_settings": {"plan_cache_mode": "force_generic_plan", "enable_seqscan": "off", "jit": "off"}
}
# A pooler hands each transaction to any backend: it takes no settings, and what was prepared on one backend
# is unknown to the next.
_POOLED = {"statement_cache_size": 0}
_UNSENT = (asyncpg.CannotConnectNowError, asyncpg.TooManyConnectionsError)


class Pool:
    """Runs statements by name. None rests on its session: a transaction-mode pooler may stand in between."""

    def __init__(self, dsn: str, *, pooled: bool, size: int, timeout: float) -> None:
        self._dsn = dsn
        self._options: dict[str, Any] = _POOLED if pooled else _DIRECT
        self._size = size
        self._timeout = timeout
        self._turning = asyncio.Lock()
        self._pool: asyncpg.Pool | None = None
        self._statements = {
            name: statements.numbered(text)
            for name, text in statements.load("tenure.storage.postgres").items()
        }

    async def open(self) -> None:
        """Connect once, to be sure that the server answers."""
        async with self._turning:
            if self._pool is None:
                self._pool = await self._translated(self._connected)

    async def _connected(self) -> asyncpg.Pool:
        pool = asyncpg.create_pool(
            self._dsn,
            min_size=1,
            max_size=self._size,
            timeout=self._timeout,
            command_timeout=self._timeout,
            reset=_keep,
            **self._options,
        )
        try:
            return await pool
        except BaseException:
            pool.terminate()
            raise

    async def close(self) -> None:
        """Disconnect; what is under way is finished first."""
        async with self._turning:
            if self._pool is not None:
                pool, self._pool = self._pool, None
                await pool.close()

    async def run(self, statement: str, /, **values: object) -> list[asyncpg.Record]:
        """Run one statement in a transaction of its own. A collision is tried once more."""
        text, names = self._statements[statement]
        arguments = [values[name] for name in names]
        pool = self._opened()
        try:
            return await self._translated(lambda: pool.fetch(text, *arguments))
        except _Collision:
            return await self._translated(lambda: pool.fetch(text, *arguments))

    async def together(self, *steps: tuple[str, dict[str, object]]) -> list[asyncpg.Record]:
        """Run several statements in one transaction; answers with the rows of the last."""

        async def in_one(connection: Connection) -> list[asyncpg.Record]:
            rows: list[asyncpg.Record] = []
            async with connection.transaction():
                for statement, values in steps:
                    text, names = self._statements[statement]
                    rows = await connection.fetch(text, *(values[name] for name in names))
            return rows

        try:
            return await self.work(in_one)
        except _Collision:
            return await self.work(in_one)

    async def dial(self) -> asyncpg.Connection:
        """A connection of the caller's own, apart from the pool."""
        return await self._translated(
            lambda: asyncpg.connect(self._dsn, timeout=self._timeout, command_timeout=self._timeout)
        )

    async def work(self, task: Callable[[Connection], Awaitable[T]]) -> T:
        """Run a task that needs several statements on one connection."""
        pool = self._opened()

        async def borrowed() -> T:
            async with pool.acquire() as connection:
                return await task(connection)

        return await self._translated(borrowed)

    def _opened(self) -> asyncpg.Pool:
        if self._pool is None:
            raise StoreUnavailable("the store is not open: call open() first")
        return self._pool

    async def _translated(self, action: Callable[[], Awaitable[T]]) -> T:
        try:
            return await action()
        except _DRIVER_ERRORS as error:
            raise _ours(error, self._where()) from error

    def _where(self) -> str:
        parts = urlsplit(self._dsn)
        return f"{parts.hostname or 'local socket'}:{parts.port or 5432}/{parts.path.lstrip('/')}"


class _Collision(StoreBusy):
    """Two transactions got in each other's way and ours was undone; nothing was written."""


async def _keep(_connection: asyncpg.Connection) -> None:
    """Statements leave nothing behind in the session: there is nothing to reset, no round trip to spend."""


def _ours(error: Exception, where: str) -> StoreError:
    """The error of `tenure.core.errors` that says the same."""
    code = str(getattr(error, "sqlstate", None) or "")
    if isinstance(error, asyncpg.DeadlockDetectedError | asyncpg.SerializationError):
        return _Collision("two transactions got in each other's way; nothing was written, try again")
    if isinstance(error, asyncpg.LockNotAvailableError):
        return StoreBusy("another open transaction holds what was needed; nothing was written, try again")
    if code in ("42P01", "3F000", "42883"):
        return SchemaMismatch(
            f"the database at {where} has no tenure schema, or an older one: run `tenure migrate`"
        )
    if isinstance(error, ValueError):
        return StoreRefused(f"a value cannot be sent to PostgreSQL: {_brief(error)}")
    if not code or code.startswith(_OUTAGE_CLASSES):
        unknown = not isinstance(error, (*_UNSENT, ConnectionRefusedError)) and not code.startswith(
            ("28", "3D")
        )
        return StoreUnavailable(f"PostgreSQL at {where} is not available: {_brief(error)}", unknown=unknown)
    if code == _GUARD:
        return StoreRefused(f"the database refused the step: {_brief(error)}")
    return StoreRefused(f"PostgreSQL refused the statement ({code}): {_brief(error)}")


def _brief(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200] or type(error).__name__
