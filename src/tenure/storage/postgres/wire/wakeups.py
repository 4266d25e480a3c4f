"""Hints between processes by NOTIFY: jobs were put in line, were given a time, have ended or are to stop.

Most hints are sent after the commit that they report, not inside its transaction: PostgreSQL serializes
commits that notify. The first hint is sent at once, in one round trip even on a new connection; those that
follow within a few milliseconds are sent together, so that their number stays small (`HintPace`). The hint
for a single job goes along with its commit, if this process is sending no others and its jobs are few; so do
the hints of a caller that enqueues one job after the other.

A hint that jobs were put in line names their places, if they are few: an idle worker that knows the line
claims there without a look-up.

Hints are optional and may be lost (no connection, a pooler in between): they only shorten a wait.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable, Collection, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any, NamedTuple

from tenure.core.errors import StoreError
from tenure.storage.postgres.claims.hints import Hints, Place, decode_places, encode_places
from tenure.storage.postgres.wire.errors import DRIVER_ERRORS
from tenure.storage.postgres.wire.hint_pace import HintPace
from tenure.storage.postgres.wire.pool import Pool

CHANNEL = "tenure"
_RECONNECT = 1.0
_ANSWERS_WITHIN = 5.0
_QUEUED, _TIMED, _ENDED, _STOPPING = _ALL = "queued", "timed", "ended", "stopping"


class Listener:
    """Waits for hints in this process."""

    def __init__(self, hints: frozenset[str], is_live: Callable[[], bool]) -> None:
        self.hints = hints
        self._is_live = is_live
        self._has_hint = asyncio.Event()
        self._on_hint: Callable[[], None] | None = None

    @property
    def is_live(self) -> bool:
        """Whether hints of other processes arrive."""
        return self._is_live()

    def call(self, on_hint: Callable[[], None]) -> None:
        """Call this for each hint: a task that waits would have to be woken first."""
        self._on_hint = on_hint

    def wake(self) -> None:
        """End the wait under way, or else the next one."""
        if self._on_hint is None:
            self._has_hint.set()
        else:
            self._on_hint()

    async def wait(self, timeout: float) -> bool:
        """Whether a hint came since the last call, waiting for one up to `timeout` seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                await self._has_hint.wait()
        has_hint = self._has_hint.is_set()
        self._has_hint.clear()
        return has_hint


class CommitHint(NamedTuple):
    """How a hint begins that goes along with a commit, and how many others were noted before it."""

    text: str
    noted: int


class WakeupChannel:
    """Sends the hints of this store, and passes on those of others."""

    def __init__(self, pool: Pool, *, enabled: bool, on_queued: Callable[[Collection[Place]], None]) -> None:
        """`on_queued` is called when another process may have put jobs in line, with the places if known."""
        self._pool = pool
        self._enabled = enabled
        self._on_queued = on_queued
        self._name = secrets.token_hex(4)
        self._listeners: set[Listener] = set()
        self._unsent: set[str] = set()
        self._places = Hints()
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_sending = False
        self._is_notifying = False
        self._noted = 0
        self.pace = HintPace()
        self._closing = asyncio.Event()
        self._is_sooner = asyncio.Event()
        self._is_connected = False
        self._connection_task: asyncio.Task[None] | None = None
        self._needs_look = asyncio.Event()
        pool.connections.on_lost = pool.connections.on_starved = self._needs_look.set

    @property
    def is_connected(self) -> bool:
        """Whether hints of other processes arrive, as far as is known."""
        return self._is_connected

    def along_with_commit(self) -> CommitHint | None:
        """The hint that may go along with a commit that queues a job; None if it is to be sent later."""
        is_due = self._enabled and not self._is_notifying and self.pace.may_go_along
        return CommitHint(f"{_QUEUED} {self._name} ", self._noted) if is_due else None

    def queued(
        self, places: Collection[Place] = (), *, jobs: int = 0, sent: CommitHint | None = None
    ) -> None:
        """So many jobs were put in line there, or somewhere; `sent` is the hint that went along."""
        self._wake(_QUEUED)
        if sent is None:
            self._noted += 1
            self.pace.note(jobs)
            self._is_sooner.set()
            self._places.add(places)
            self._send(_QUEUED)
            return
        # Jobs that were put there while it was under way may be too late for the worker that it woke.
        if sent.noted == self._noted and self._places.drop(places):
            self._unsent.discard(_QUEUED)
        if not self._unsent:  # hints that are left are not delayed
            self.pace.begin()
            self.pace.note_told()

    def timed(self) -> None:
        """Jobs were given a time to wait for."""
        self._wake(_TIMED)
        self._send(_TIMED)

    def ended(self) -> None:
        """Jobs have ended."""
        self._wake(_ENDED)
        self._send(_ENDED)

    def stopping(self) -> None:
        """Jobs that run were asked to stop."""
        self._wake(_STOPPING)
        self._send(_STOPPING)

    @asynccontextmanager
    async def listen(self, *, endings: bool, stops: bool, changes: bool) -> AsyncIterator[Listener]:
        """Listen for hints while the context lasts."""
        kinds = {_STOPPING} if stops else {_QUEUED, _ENDED} if endings else {_QUEUED}
        listener = Listener(frozenset(_ALL if changes else kinds), lambda: self._is_connected)
        self._listeners.add(listener)
        if self._enabled and self._connection_task is None:
            self._connection_task = self._start(self._keep_connected())
        try:
            yield listener
        finally:
            self._listeners.discard(listener)
            if not self._listeners:
                await self._disconnect()

    async def close(self) -> None:
        """End every task; listeners get no more hints."""
        await self._disconnect()
        self._closing.set()
        self._is_sooner.set()
        while self._tasks:
            await asyncio.wait(self._tasks)
        self._closing.clear()

    async def _disconnect(self) -> None:
        if self._connection_task is not None:
            task, self._connection_task = self._connection_task, None
            task.cancel()
            await asyncio.wait([task])

    def _start(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _wake(self, hint: str) -> None:
        for listener in self._listeners:
            if hint in listener.hints:
                listener.wake()

    def _send(self, hint: str) -> None:
        if self._enabled:
            self._unsent.add(hint)
            if not self._is_sending:
                self._is_sending = True
                self._start(self._send_unsent())

    async def _send_unsent(self) -> None:
        try:
            while self._unsent:
                if (rest := self.pace.rest) > 0 and not self._closing.is_set():
                    await self._rest(rest)
                    continue  # some may have gone along with a commit meanwhile
                hints = [f"{hint} {self._name}" for hint in sorted(self._unsent - {_QUEUED})]
                if _QUEUED in self._unsent:
                    hints.insert(0, f"{_QUEUED} {self._name} {encode_places(self._places.take())}")
                self._unsent.clear()
                self.pace.begin()
                self._is_notifying = True
                await self._pool.execute("; ".join(f"NOTIFY {CHANNEL}, '{hint}'" for hint in hints))
                self._is_notifying = False
                self.pace.note_told()
        except StoreError:
            self._unsent.clear()
        finally:
            self._is_sending = self._is_notifying = False

    async def _rest(self, seconds: float) -> None:
        """Wait until it is time for the next round, or until that may be sooner."""
        self._is_sooner.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._is_sooner.wait()

    async def _keep_connected(self) -> None:
        while True:
            if not self._pool.connections.is_starved:  # statements go first
                with suppress(*DRIVER_ERRORS, StoreError):
                    await self._receive_hints()
            await asyncio.sleep(_RECONNECT)

    async def _receive_hints(self) -> None:
        connection = await self._pool.connect()
        self._needs_look.clear()
        connection.add_termination_listener(lambda _: self._needs_look.set())
        try:
            await connection.add_listener(CHANNEL, self._receive)
            self._is_connected = True
            for hint in _ALL:  # hints sent before the connection are lost
                self._receive(connection, 0, CHANNEL, f"{hint} ")
            while not connection.is_closed() and not self._pool.connections.is_starved:
                await self._needs_look.wait()
                self._needs_look.clear()
                # Nothing is sent here otherwise: that the server is gone without a word would not be noticed.
                async with asyncio.timeout(_ANSWERS_WITHIN):
                    await connection.execute("SELECT")
        finally:
            self._is_connected = False
            connection.terminate()
            for hint in _ALL:  # listeners must know that no hints arrive
                self._wake(hint)

    def _receive(self, _connection: object, _pid: int, _channel: str, payload: object) -> None:
        hint, _, rest = str(payload).partition(" ")
        sender, _, places = rest.partition(" ")
        if sender == self._name:
            return
        if hint == _QUEUED:
            self._on_queued(decode_places(places))
        self._wake(hint)
