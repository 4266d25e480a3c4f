"""Connections to PostgreSQL.

Nobody waits longer than the timeout, whatever becomes of the server and the network: not for a connection,
not for an answer, and not for the driver, which tidies up behind a statement that was given up.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from time import monotonic
from typing import Any, TypeVar
from urllib.parse import urlsplit

import asyncpg

from tenure.core.errors import StoreUnavailable
from tenure.storage import statements
from tenure.storage.postgres.deadlines import Deadlines
from tenure.storage.postgres.literals import prepared
from tenure.storage.postgres.refusals import DRIVER_ERRORS, Collision, ours
from tenure.storage.postgres.transaction import Connection, Transaction
from tenure.storage.postgres.users import Users

__all__ = ["Connection", "Pool"]

T = TypeVar("T")

# Statements are long and few, and their plans are known beforehand: planned once a connection, by index.
# Planning anew each time costs the server 1.5 times the work at a hundred jobs a batch, 2.5 times at one.
# Without the second setting a plan made while the tables were empty would scan them when they are full.
_DIRECT = {
    "server_settings": {"plan_cache_mode": "force_generic_plan", "enable_seqscan": "off", "jit": "off"}
}
# A pooler hands each transaction to any backend: it takes no settings, and what was prepared on one backend
# is unknown to the next.
_POOLED = {"statement_cache_size": 0}
# To give a connection back to the driver and ask for it again costs a task, two timers and two rounds of the
# event loop. So the last ones used stay at hand; one that was idle for long may be dead without anybody
# knowing, and is not used again.
_AT_HAND = 2
_IDLE_FOR = 300.0
# Seconds, for what reads all of history.
_A_SURVEY = 600.0
# The standard loop reads each answer into a new block of 256 KiB. glibc asks the system for such a block and
# gives it back, which costs twice as much as all the rest of reading, until a larger one has been freed in
# the process: from then on it keeps them.
_LARGER_BLOCK = 2**20


class Pool:
    """Runs statements by name. None rests on its session: a transaction-mode pooler may stand in between."""

    def __init__(self, dsn: str, *, pooled: bool, size: int, timeout: float) -> None:
        self._dsn = dsn
        self._options: dict[str, Any] = _POOLED if pooled else _DIRECT
        self._size = size
        self._timeout = timeout
        self._deadlines = Deadlines()
        self._turning = asyncio.Lock()
        self._pool: asyncpg.Pool | None = None
        self._users = Users()
        self._at_hand: list[tuple[asyncpg.pool.PoolConnectionProxy, float]] = []
        self._waiting = 0
        self._statements = {
            name: prepared(text) for name, text in statements.load("tenure.storage.postgres").items()
        }

    async def open(self) -> None:
        """Connect once, to be sure that the server answers."""
        async with self._turning:
            if self._pool is None:
                bytes(_LARGER_BLOCK)  # given back at once
                self._pool = await self._connected()

    async def _connected(self) -> asyncpg.Pool:
        # No connection is kept up for its own sake: the driver would try again and again behind our back, and
        # whoever needs a connection would wait for that.
        pool = await asyncpg.create_pool(
            self._dsn,
            min_size=0,
            max_size=self._size,
            timeout=self._timeout,
            reset=_keep,
            **self._options,
        )
        try:
            await self._returned(pool, await self._borrowed(pool, self._deadline()))
        except BaseException:
            pool.terminate()
            raise
        return pool

    async def close(self) -> None:
        """Disconnect; what is under way is finished first, or has run out of time by then."""
        async with self._turning:
            if self._pool is not None:
                pool, self._pool = self._pool, None
                await self._users.gone(self._timeout)
                while self._at_hand:
                    await self._returned(pool, self._at_hand.pop()[0])
                try:
                    async with asyncio.timeout(self._timeout):
                        await pool.close()
                except DRIVER_ERRORS:
                    pool.terminate()
                self._deadlines.forget()

    def run(self, statement: str, /, **values: object) -> Coroutine[Any, Any, list[asyncpg.Record]]:
        """Run one statement in a transaction of its own. A collision is tried once more."""
        return self.ask(statement, values)

    async def ask(self, statement: str, values: dict[str, Any]) -> list[asyncpg.Record]:
        """`run`, for who has many values at hand."""
        text, arguments = self._asked(statement, values)
        deadline = monotonic() + self._timeout

        def fetch(connection: Connection) -> Awaitable[list[asyncpg.Record]]:
            return connection.fetch(text, *arguments)

        self._users.enter()
        try:
            pool = self._opened()
            try:
                return await self._lent(pool, deadline, fetch)
            except Collision:
                return await self._lent(pool, deadline, fetch)
        finally:
            self._users.leave()

    async def together(self, *steps: tuple[str, dict[str, object]]) -> list[list[asyncpg.Record]]:
        """Run statements in one transaction, up to one that finds nothing; answers with the rows of each."""

        async def in_turn(run: Transaction) -> list[list[asyncpg.Record]]:
            rows: list[list[asyncpg.Record]] = []
            for statement, values in steps:
                rows.append(await run(statement, **values))
                if not rows[-1]:
                    break
            return rows

        return await self.transact(in_turn)

    async def transact(self, task: Callable[[Transaction], Awaitable[T]]) -> T:
        """Run a task in one transaction, which it is given; what it raises takes everything back."""
        deadline = self._deadline()

        async def in_one(connection: Connection) -> T:
            # Whatever the database's default is: the second statement must see what the first waited for.
            async with connection.transaction(isolation="read_committed"):
                return await task(Transaction(connection, self._asked))

        with self._users:
            pool = self._opened()
            try:
                return await self._lent(pool, deadline, in_one)
            except Collision:
                return await self._lent(pool, deadline, in_one)

    async def say(self, text: str) -> None:
        """Run a text of our own that takes no values and is too seldom sent to be worth preparing."""
        with self._users:
            await self._lent(self._opened(), self._deadline(), lambda connection: connection.execute(text))

    async def dial(self, **options: Any) -> asyncpg.Connection:
        """A connection of the caller's own, apart from the pool."""
        try:
            async with asyncio.timeout(self._timeout):
                return await asyncpg.connect(self._dsn, **options)
        except DRIVER_ERRORS as error:
            raise ours(error, self._where(), sent=False) from error

    async def work(self, task: Callable[[Connection], Awaitable[T]]) -> T:
        """Run a task that needs several statements on one connection; the timeout is for all of them."""
        with self._users:
            return await self._lent(self._opened(), self._deadline(), task)

    async def toil(self, task: Callable[[Connection], Awaitable[T]]) -> T:
        """Run a long task on a connection of its own; the timeout is for each of its statements."""
        with self._users:
            self._opened()
            connection = await self.dial(command_timeout=self._timeout, **self._options)
            try:
                return await task(connection)
            except DRIVER_ERRORS as error:
                raise ours(error, self._where()) from error
            finally:
                connection.terminate()

    async def survey(self, statement: str, /, **values: object) -> list[asyncpg.Record]:
        """Run one statement that reads all there is: planned for that, and given time."""
        text, arguments = self._asked(statement, values)

        async def read(connection: Connection) -> list[asyncpg.Record]:
            async with connection.transaction(readonly=True):
                await connection.execute("SET LOCAL enable_seqscan = on")
                return await connection.fetch(text, *arguments, timeout=_A_SURVEY)

        return await self.toil(read)

    def _asked(self, statement: str, values: Mapping[str, Any]) -> tuple[str, Sequence[Any]]:
        asked = self._statements[statement]
        return asked.text, asked.arguments(values)

    def _opened(self) -> asyncpg.Pool:
        if self._pool is None:
            raise StoreUnavailable("the store is not open: call open() first")
        return self._pool

    def _deadline(self) -> float:
        return monotonic() + self._timeout  # which is the time of every loop

    async def _lent(
        self, pool: asyncpg.Pool, deadline: float, task: Callable[[Connection], Awaitable[T]]
    ) -> T:
        connection = self._taken_up() or await self._borrowed(pool, deadline)
        try:
            # The driver's own timeout would not do: where it closes a statement meanwhile, it waits for ever.
            answer = await self._deadlines.keep(deadline, task(connection))
        except (TimeoutError, asyncio.CancelledError) as error:
            # The driver asks the server to give the statement up, and waits for that; our caller does not.
            returning = asyncio.create_task(self._returned(pool, connection))
            self._users.enter()
            returning.add_done_callback(lambda _: self._users.leave())
            if isinstance(error, asyncio.CancelledError):
                raise
            raise ours(error, self._where()) from error
        except BaseException as error:
            await self._returned(pool, connection)
            if isinstance(error, DRIVER_ERRORS):
                raise ours(error, self._where()) from error
            raise
        # Whoever waits for the driver to lend one would not hear of one that is at hand.
        if self._waiting or len(self._at_hand) == _AT_HAND or self._pool is not pool:
            await self._returned(pool, connection)
        else:
            self._at_hand.append((connection, monotonic()))
        return answer

    def _taken_up(self) -> asyncpg.pool.PoolConnectionProxy | None:
        """The connection that was used last, if it is at hand and fit for use."""
        if self._at_hand:
            connection, since = self._at_hand[-1]
            if monotonic() - since < _IDLE_FOR and not _is_closed(connection):
                return self._at_hand.pop()[0]
        return None

    async def _borrowed(self, pool: asyncpg.Pool, deadline: float) -> asyncpg.pool.PoolConnectionProxy:
        while self._at_hand:
            connection, since = self._at_hand.pop()
            if not _is_closed(connection):
                if monotonic() - since < _IDLE_FOR:
                    return connection
                connection.terminate()
            await self._returned(pool, connection)
        self._waiting += 1
        try:
            async with asyncio.timeout_at(deadline):
                return await pool.acquire()
        except DRIVER_ERRORS as error:
            raise ours(error, self._where(), sent=False) from error
        finally:
            self._waiting -= 1

    async def _returned(self, pool: asyncpg.Pool, connection: asyncpg.pool.PoolConnectionProxy) -> None:
        try:
            await pool.release(connection, timeout=self._timeout)
        except DRIVER_ERRORS:
            # The connection is of no more use, and the pool has dropped it; that is nobody's failure.
            pass

    def _where(self) -> str:
        parts = urlsplit(self._dsn)
        return f"{parts.hostname or 'local socket'}:{parts.port or 5432}/{parts.path.lstrip('/')}"


def _is_closed(connection: asyncpg.pool.PoolConnectionProxy) -> bool:
    try:
        return connection.is_closed()
    except asyncpg.InterfaceError:  # the driver has taken back what was closed
        return True


async def _keep(_connection: asyncpg.Connection) -> None:
    """Statements leave nothing behind in the session: there is nothing to reset, no round trip to spend."""
