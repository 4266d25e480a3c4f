"""Hints between processes by NOTIFY: that jobs were put in line or given a time, have ended, or are to stop.

Most hints are sent after the commit they speak of, not inside its transaction: commits that notify go one
after the other. The first goes at once, in one round trip however new the connection; those that follow
within a few milliseconds go together, so that however much is done, few are sent. Where nobody else is doing
the same, that one job was put in line after a while of silence goes along with its commit; so do the hints of
who puts in one job after the other.

That jobs were put in line says where, if it can in a few words: who is idle and knows the line claims there
without looking first.

Hints are optional and may be lost (no connection, a pooler in between): they only shorten a wait.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable, Collection, Coroutine
from contextlib import asynccontextmanager, suppress
from time import monotonic
from typing import Any, NamedTuple

import asyncpg

from tenure.core.errors import StoreError
from tenure.storage.postgres.pool import Pool
from tenure.storage.postgres.told import Place, Told, read, written

CHANNEL = "tenure"
QUIET = 0.02
"""Seconds between two rounds of hints from one process."""

_SOONER = 0.005
"""Seconds by which a hint that goes along may come before its time: it spares a round of its own."""

_RECONNECT = 1.0
_QUEUED, _TIMED, _ENDED, _STOPPING = _ALL = "queued", "timed", "ended", "stopping"


class Listener:
    """One who waits for hints in this process."""

    def __init__(self, hints: frozenset[str], is_live: Callable[[], bool]) -> None:
        self.hints = hints
        self._is_live = is_live
        self._told = asyncio.Event()
        self._heard: Callable[[], None] | None = None

    @property
    def is_live(self) -> bool:
        """Whether others are heard."""
        return self._is_live()

    def call(self, heard: Callable[[], None]) -> None:
        """Have this called for each hint: a task that waits would have to be woken first."""
        self._heard = heard

    def tell(self) -> None:
        """Wake whoever waits, now or next time."""
        if self._heard is None:
            self._told.set()
        else:
            self._heard()

    async def wait(self, timeout: float) -> bool:
        """Whether a hint came since the last call, waiting for one up to `timeout` seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                await self._told.wait()
        told = self._told.is_set()
        self._told.clear()
        return told


class Along(NamedTuple):
    """How a hint begins that goes along with a commit, and how many were to be sent otherwise until then."""

    text: str
    noted: int


class Switchboard:
    """Sends this store's hints and hands on those of others."""

    def __init__(self, pool: Pool, *, enabled: bool, heard: Callable[[Collection[Place]], None]) -> None:
        """`heard` is called whenever jobs may have been put in line by somebody else, with where if known."""
        self._pool = pool
        self._enabled = enabled
        self._heard = heard
        self._name = secrets.token_hex(4)
        self._listeners: set[Listener] = set()
        self._unsent: set[str] = set()
        self._places = Told()
        self._tasks: set[asyncio.Task[None]] = set()
        self._sending = False
        self._saying = False
        self._noted = 0
        self._quiet_until = 0.0
        self._closing = asyncio.Event()
        self._is_connected = False
        self._line: asyncio.Task[None] | None = None

    @property
    def are_heard(self) -> bool:
        """Whether hints of others arrive here, as far as anybody can know."""
        return self._is_connected

    def along(self) -> Along | None:
        """What may go along with a commit that puts a job in line; None where a hint is to go later."""
        is_due = self._enabled and not self._saying and monotonic() >= self._quiet_until - _SOONER
        return Along(f"{_QUEUED} {self._name} ", self._noted) if is_due else None

    def queued(self, places: Collection[Place] = (), *, told: Along | None = None) -> None:
        """Jobs were put in line, at these places or wherever; `told` by what others have a hint of it."""
        self._tell(_QUEUED)
        if told is None:
            self._noted += 1
            self._places.add(places)
            self._send(_QUEUED)
            return
        # What was put there while it was under way may have come too late for whoever it woke.
        if told.noted == self._noted and self._places.drop(places):
            self._unsent.discard(_QUEUED)
        if not self._unsent:  # what is left is not put off
            self._quiet_until = monotonic() + QUIET

    def timed(self) -> None:
        """Jobs were given a time to wait for."""
        self._tell(_TIMED)
        self._send(_TIMED)

    def ended(self) -> None:
        """Jobs have ended."""
        self._tell(_ENDED)
        self._send(_ENDED)

    def stopping(self) -> None:
        """Jobs that run were asked to stop."""
        self._tell(_STOPPING)
        self._send(_STOPPING)

    @asynccontextmanager
    async def listen(self, *, endings: bool, stops: bool, changes: bool) -> AsyncIterator[Listener]:
        """Be told of hints while the context lasts."""
        kinds = {_STOPPING} if stops else {_QUEUED, _ENDED} if endings else {_QUEUED}
        listener = Listener(frozenset(_ALL if changes else kinds), lambda: self._is_connected)
        self._listeners.add(listener)
        if self._enabled and self._line is None:
            self._line = self._start(self._keep_connected())
        try:
            yield listener
        finally:
            self._listeners.discard(listener)
            if not self._listeners:
                await self._hang_up()

    async def close(self) -> None:
        """End every task; listeners hear nothing more."""
        await self._hang_up()
        self._closing.set()
        while self._tasks:
            await asyncio.wait(self._tasks)
        self._closing.clear()

    async def _hang_up(self) -> None:
        if self._line is not None:
            line, self._line = self._line, None
            line.cancel()
            await asyncio.wait([line])

    def _start(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _tell(self, hint: str) -> None:
        for listener in self._listeners:
            if hint in listener.hints:
                listener.tell()

    def _send(self, hint: str) -> None:
        if self._enabled:
            self._unsent.add(hint)
            if not self._sending:
                self._sending = True
                self._start(self._send_unsent())

    async def _send_unsent(self) -> None:
        try:
            while self._unsent:
                if (rest := self._quiet_until - monotonic()) > 0 and not self._closing.is_set():
                    await self._rest(rest)
                    continue  # some may have gone along meanwhile
                hints = [f"{hint} {self._name}" for hint in sorted(self._unsent - {_QUEUED})]
                if _QUEUED in self._unsent:
                    hints.insert(0, f"{_QUEUED} {self._name} {written(self._places.take())}")
                self._unsent.clear()
                self._saying = True
                await self._pool.say("; ".join(f"NOTIFY {CHANNEL}, '{hint}'" for hint in hints))
                self._saying = False
                self._quiet_until = monotonic() + QUIET
        except StoreError:
            self._unsent.clear()
        finally:
            self._sending = self._saying = False

    async def _rest(self, seconds: float) -> None:
        """Wait until it is time for the next round; who closes does not wait."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._closing.wait()

    async def _keep_connected(self) -> None:
        while True:
            with suppress(StoreError, OSError, asyncpg.PostgresError, asyncpg.InterfaceError, TimeoutError):
                await self._hear()
            await asyncio.sleep(_RECONNECT)

    async def _hear(self) -> None:
        connection = await self._pool.dial()
        gone = asyncio.Event()
        connection.add_termination_listener(lambda _: gone.set())
        try:
            await connection.add_listener(CHANNEL, self._receive)
            self._is_connected = True
            for hint in _ALL:  # what was said before is not heard again
                self._receive(connection, 0, CHANNEL, f"{hint} ")
            await gone.wait()
        finally:
            self._is_connected = False
            connection.terminate()
            for hint in _ALL:  # who relies on hints must know that there are none
                self._tell(hint)

    def _receive(self, _connection: object, _pid: int, _channel: str, payload: object) -> None:
        hint, _, rest = str(payload).partition(" ")
        sender, _, places = rest.partition(" ")
        if sender == self._name:
            return
        if hint == _QUEUED:
            self._heard(read(places))
        self._tell(hint)
