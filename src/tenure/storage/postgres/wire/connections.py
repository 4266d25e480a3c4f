"""The connections of one store: lent to statements, kept while idle, and shared out when they are short.

Whoever needs one gets an idle one, or a new one while there are fewer than the most. If there is none, it
waits in line: heartbeats first, then turns, then all others. A connection that comes back goes to the first
in line, at once.

A server that has no connection to spare (53300) is not an outage. Callers wait for connections of this
process, and one of them knocks at the server again and again. A caller that `waits_long` waits as long as
that lasts; others until their deadline. If somebody has waited for a second, a signal says so, and another
one when it is over.

One idle connection is kept. Others are closed when they were idle for some seconds, so that a process that
has no work leaves the server's connections to others.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import suppress
from enum import IntEnum
from random import random
from time import monotonic
from typing import Any

import asyncpg

from tenure.core.errors import StoreError, StoreUnavailable
from tenure.core.signals import Announce, ConnectionsFreed, ConnectionsShort
from tenure.storage.postgres.wire.errors import DRIVER_ERRORS
from tenure.storage.postgres.wire.servers import ServerFull, Servers

SPARE_FOR = 5.0
"""Seconds until an idle connection beside the last one is closed."""

IDLE_FOR = 300.0
"""Seconds after which an idle connection may be dead without notice, and is not used again."""

KNOCK_EVERY = 0.5
"""Seconds between two tries to get a connection from a server that has none to spare, on average."""

SAY_AFTER = 1.0
"""Seconds that somebody must wait for a connection before a signal says so."""


class Urgency(IntEnum):
    """Who goes first when connections are short."""

    HEARTBEAT = 0
    TURN = 1
    OTHER = 2


class Connections:
    """Lends connections. The borrower gives each back, or drops it."""

    def __init__(
        self, servers: Servers, *, most: int, timeout: float, waits_long: bool, on_signal: Announce
    ) -> None:
        self._servers = servers
        self._most = most
        self._timeout = timeout
        self._waits_long = waits_long
        self._on_signal = on_signal
        self._idle: list[tuple[asyncpg.Connection, float]] = []
        self._open = 0
        self._lines: dict[Urgency, deque[_Waiter]] = {urgency: deque() for urgency in Urgency}
        self._waiting = 0
        self._is_refused = False
        self._refusal = ""
        self._short_since: float | None = None
        self._is_closed = False
        self._knocking: asyncio.Task[None] | None = None
        self._trimming: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.on_lost: Callable[[], None] = lambda: None
        """Called when a connection turns out to be broken: others to the same server may be, too."""
        self.on_starved: Callable[[], None] = lambda: None
        """Called while the server gives no connection and there is none for any statement."""

    @property
    def is_starved(self) -> bool:
        """Whether the server gives no connection and there is none for any statement."""
        return self._is_refused and not self._open

    def open(self) -> None:
        """Lend from now on."""
        self._is_closed = False

    def take_idle(self) -> asyncpg.Connection | None:
        """The connection that was used last, if it is idle and usable."""
        while self._idle:
            connection, since = self._idle.pop()
            if not connection.is_closed() and monotonic() - since < IDLE_FOR:
                return connection
            connection.terminate()
            self._open -= 1
        return None

    async def take(self, deadline: float, urgency: Urgency) -> asyncpg.Connection:
        """Borrow a connection. Raises StoreUnavailable if there is none by the deadline; nothing was sent."""
        since = monotonic()
        self._waiting += 1
        try:
            while True:
                if (idle := self.take_idle()) is not None:
                    return idle
                if self._open < self._most and not self._is_refused:
                    with suppress(ServerFull):
                        return await self._connect(deadline)
                if (given := await self._wait(since, deadline, urgency)) is not None:
                    return given
                if self._waits_long:
                    deadline = max(deadline, monotonic() + self._timeout)
        finally:
            self._waiting -= 1
            if not self._waiting:
                self._say_that_it_is_over()

    async def _connect(self, deadline: float) -> asyncpg.Connection:
        self._open += 1
        try:
            return await self._servers.connect(deadline)
        except ServerFull as refusal:
            self._open -= 1
            self._is_refused = True
            self._refusal = str(refusal)
            raise
        except BaseException:
            self._leave()
            raise

    def give_back(self, connection: asyncpg.Connection) -> None:
        """Give back a connection that is in order: it goes to the first in line, or is kept."""
        if connection.is_closed():
            self.drop(connection)
        elif self._is_closed:
            self._open -= 1
            connection.terminate()
        elif (first := self._next_waiter()) is not None:
            first.answer.set_result(connection)
        else:
            self._idle.append((connection, monotonic()))
            if len(self._idle) > 1 and self._trimming is None:
                self._trimming = asyncio.get_running_loop().call_later(SPARE_FOR, self._trim)

    def set_aside(self, connection: asyncpg.Connection) -> None:
        """Its statement is being cancelled: it counts as lent until it is given back or dropped."""

    def drop(self, connection: asyncpg.Connection) -> None:
        """Give back a connection that cannot be used any more."""
        connection.terminate()
        self._leave()
        self.on_lost()

    def cede(self) -> None:
        """A borrowed connection is the borrower's own from now on; another may be opened in its place."""
        self._leave()

    def expire(self) -> None:
        """Close what is idle: its server does not take writes any more, or cannot be reached."""
        idle, self._idle = self._idle, []
        for connection, _ in idle:
            connection.terminate()
            self._open -= 1

    async def close(self) -> None:
        """Close what is idle, and stop knocking; callers that still wait are refused."""
        self._is_closed = True
        while (left := self._next_waiter()) is not None:
            left.answer.set_exception(StoreUnavailable("the store was closed; nothing was sent"))
        if self._knocking is not None:
            self._knocking.cancel()
        if self._trimming is not None:
            self._trimming.cancel()
            self._trimming = None
        idle, self._idle = self._idle, []
        for connection, _ in idle:
            self._open -= 1
            self.close_later(connection)
        while self._tasks:
            await asyncio.wait(self._tasks)

    def close_later(self, connection: asyncpg.Connection) -> None:
        """Close a connection in good order; nobody waits for it."""
        self._start(self._close(connection))

    async def _close(self, connection: asyncpg.Connection) -> None:
        try:
            await connection.close(timeout=self._timeout)
        except DRIVER_ERRORS:
            connection.terminate()

    def _start(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _trim(self) -> None:
        self._trimming = None
        now = monotonic()
        while len(self._idle) > 1 and self._idle[0][1] <= now - SPARE_FOR:
            connection, _ = self._idle.pop(0)
            self._open -= 1
            self.close_later(connection)
        if len(self._idle) > 1:
            rest = self._idle[0][1] + SPARE_FOR - now
            self._trimming = asyncio.get_running_loop().call_later(rest, self._trim)

    def _leave(self) -> None:
        """There is one connection fewer: the first in line may open another."""
        self._open -= 1
        if (first := self._next_waiter()) is not None:
            first.answer.set_result(None)

    def _next_waiter(self) -> "_Waiter | None":
        for line in self._lines.values():
            while line:
                waiter = line.popleft()
                if not waiter.answer.done():
                    return waiter
        return None

    async def _wait(self, since: float, deadline: float, urgency: Urgency) -> asyncpg.Connection | None:
        """Wait in line; None means that it is time to look again."""
        answer: asyncio.Future[asyncpg.Connection | None] = asyncio.get_running_loop().create_future()
        self._lines[urgency].append(_Waiter(answer, since))
        if self._is_refused and self._knocking is None:
            self._knocking = self._start(self._knock())
        try:
            while not answer.done():
                await asyncio.wait([answer], timeout=max(0.0, deadline - monotonic()))
                if not answer.done() and monotonic() >= deadline:
                    if not (self._waits_long and self._is_refused):
                        raise StoreUnavailable(self._no_connection())
                    deadline = monotonic() + self._timeout
        except BaseException:
            if answer.done():
                self._pass_on(answer)
            else:
                answer.cancel()
            raise
        return answer.result()

    def _pass_on(self, answer: "asyncio.Future[asyncpg.Connection | None]") -> None:
        """Give a connection to the next caller, since the one that got it does not wait any more."""
        if answer.exception() is None and (given := answer.result()) is not None:
            self.give_back(given)
        elif (first := self._next_waiter()) is not None:
            first.answer.set_result(None)

    def _no_connection(self) -> str:
        if self._is_refused:
            return self._refusal
        return f"PostgreSQL at {self._servers.where} is not available: no connection in time"

    async def _knock(self) -> None:
        """Ask a server that refuses for one connection, now and then, as long as somebody waits for it."""
        try:
            while self._is_refused:
                await asyncio.sleep(KNOCK_EVERY * (0.5 + random()))
                if not self._waiting or self._open >= self._most:
                    break
                self._say_that_they_are_short()
                if not self._open:
                    self.on_starved()
                try:
                    connection = await self._connect(monotonic() + self._timeout)
                except ServerFull:
                    continue
                except StoreError:
                    break  # this is another trouble: callers that wait meet it by themselves
                self.give_back(connection)
                break
        finally:
            self._knocking, self._is_refused = None, False
            for line in self._lines.values():
                while line:
                    waiter = line.popleft()
                    if not waiter.answer.done():
                        waiter.answer.set_result(None)

    def _say_that_they_are_short(self) -> None:
        waiting = [waiter for line in self._lines.values() for waiter in line if not waiter.answer.done()]
        since = min((waiter.since for waiter in waiting), default=monotonic())
        if self._short_since is None and monotonic() - since >= SAY_AFTER:
            self._short_since = since
            self._on_signal(ConnectionsShort(self._open, len(waiting), self._refusal))

    def _say_that_it_is_over(self) -> None:
        if self._short_since is not None:
            lasted, self._short_since = monotonic() - self._short_since, None
            self._on_signal(ConnectionsFreed(lasted))


class _Waiter:
    __slots__ = ("answer", "since")

    def __init__(self, answer: "asyncio.Future[asyncpg.Connection | None]", since: float) -> None:
        self.answer = answer
        self.since = since
