"""The feed of all events, followed once for everybody in the process who reads it.

A reader is no more than a position and what it is interested in. One task reads the feed on, whenever the
store hints at something and now and then without a hint, and keeps the last part of it in memory: the tail.
A reader that stands within the tail takes what is behind it from there. One that has fallen behind the tail,
or begins far back, reads the store by itself until it has caught up. Nothing is ever queued for anybody: a
reader that does not come costs nothing, and misses nothing.

The task lives for as long as there are readers. A store that is away is waited for, though not for ever.
"""

import asyncio
import math
from bisect import bisect_right
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Self

from tenure.core.errors import StoreError, StoreUnavailable
from tenure.core.reading import EVERYTHING, Entry, Interest, Position
from tenure.engine.waiting import Patience
from tenure.storage.contract import Store, Wakeups

AT_ONCE = 250
"""Events that one reading brings at most."""

GLANCE = 0.5
"""Seconds after which a look is taken without a hint. On PostgreSQL no hint speaks of a claim."""

_FEW = 16
"""Events of a reader's first reading."""

_HEAVY = 2**18
"""Characters in one reading from which on the next one is for fewer events."""

_MOST_KEPT = 2000
_MOST_CHARACTERS = 4 * 2**20
PACE = 0.05
"""Seconds between two looks at least: what happens meanwhile is read together."""

_AGAIN = 0.1
"""Seconds after a hint in which another look is taken, and then after twice as many, and so on.

What a hint speaks of may stand behind a transaction that is still open.
"""


class Feed:
    """Lets any number of readers follow the events of a store."""

    def __init__(self, store: Store) -> None:
        self.tail = Tail()
        self.news = asyncio.Event()
        """Is set, and another put in its place, whenever there is something to look at."""
        self._store = store
        self._readers: set[Reader] = set()
        self._task: asyncio.Task[None] | None = None

    async def subscribe(self, interest: Interest = EVERYTHING, *, after: Position | None = None) -> "Reader":
        """A reader of what comes behind a position, or from now on; it is closed by whoever asked for it."""
        start = await self.end() if after is None else after
        reader = Reader(self, interest, start)
        self._readers.add(reader)
        if after is None and self.tail.head is None:
            self.tail.begin(start)
        if self._task is None:
            self._task = asyncio.create_task(self._follow(), name="tenure-feed")
        return reader

    async def close(self) -> None:
        """End every reading with an error."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        self._fail_all(StoreUnavailable("the store was closed while its events were read"))

    async def end(self) -> Position:
        """Where the feed ends now."""
        return await self._store.end_of_feed()

    async def read(self, after: Position, limit: int) -> list[Entry]:
        """What the store has behind a position, for a reader that the tail is no use to."""
        return await self._store.feed(after, limit=limit)

    def leave(self, reader: "Reader") -> None:
        """A reader is gone."""
        self._readers.discard(reader)

    async def _follow(self) -> None:
        """Read on for as long as there are readers."""
        patience = Patience()
        try:
            while self._readers:
                try:
                    async with self._store.listen(changes=True) as wakeups:
                        rest = GLANCE
                        while self._readers:
                            await self._read_on()
                            patience.renew()
                            rest = await _rested(wakeups, rest)
                except StoreError as error:
                    if patience.is_over():
                        self._fail_all(error)
                    await asyncio.sleep(GLANCE)
        except Exception as error:
            # A bug; those who read must not wait for ever.
            self._fail_all(error)
        finally:
            self._task = None
            self.tail = Tail()

    async def _read_on(self) -> None:
        if self.tail.head is None:
            self.tail.begin(await self.end())
            self._wake()
        full = True
        while full:
            began = asyncio.get_running_loop().time()
            entries = await self._store.feed(self.tail.head, limit=AT_ONCE)
            if entries:
                self.tail.add(entries)
                self._wake()
            full = len(entries) == AT_ONCE
            # However much there is to read, half of the time is left to others.
            took = asyncio.get_running_loop().time() - began
            await asyncio.sleep(took if full else max(took, PACE))

    def _wake(self) -> None:
        news, self.news = self.news, asyncio.Event()
        news.set()

    def _fail_all(self, error: Exception) -> None:
        for reader in list(self._readers):
            reader.failure = error
        self._readers.clear()
        self._wake()


async def _rested(wakeups: Wakeups, rest: float) -> float:
    """Wait for a hint; answers with how long to wait for the next one."""
    if await wakeups.wait(rest):
        return _AGAIN
    return min(2 * rest, GLANCE)


class Tail:
    """The last part of the feed: all that stands behind `floor`, up to `head`; both None before it begins."""

    def __init__(self) -> None:
        self.floor: Position | None = None
        self.head: Position | None = None
        self._entries: list[Entry] = []
        self._characters = 0

    def begin(self, at: Position) -> None:
        """Nothing is known but what comes behind a position."""
        self.floor = self.head = at

    def add(self, entries: Sequence[Entry]) -> None:
        """Put events at the end, and let go of the first ones when they have become too many."""
        self._entries += entries
        self._characters += sum(map(_characters, entries))
        self.head = entries[-1].position
        spare = 0
        while len(self._entries) - spare > _MOST_KEPT or self._characters > _MOST_CHARACTERS:
            self._characters -= _characters(self._entries[spare])
            self.floor = self._entries[spare].position
            spare += 1
        del self._entries[:spare]

    def behind(self, position: Position, limit: int) -> list[Entry] | None:
        """The next events behind a position; None when some that stood there may be gone from here."""
        if self.floor is None or position < self.floor:
            return None
        first = bisect_right(self._entries, position, key=lambda entry: entry.position)
        return self._entries[first : first + limit]


class Reader:
    """Somebody who follows the feed. It is behind `position` that it reads on, and nowhere else."""

    def __init__(self, feed: Feed, interest: Interest, position: Position) -> None:
        self.position = position
        self.failure: Exception | None = None
        self._feed = feed
        self._interest = interest
        self._patience = Patience()
        self._limit = _FEW

    async def read(self, timeout: float | None = None) -> list[Entry]:
        """The next events it is interested in, waiting for some; empty when none came in so many seconds.

        Raises StoreError when the store has not answered for long, or was closed.
        """
        loop = asyncio.get_running_loop()
        deadline = math.inf if timeout is None else loop.time() + timeout
        while True:
            # Before the look: what comes right after it is then heard of.
            news = self._feed.news
            if self.failure is not None:
                raise self.failure
            before = self.position
            again = deadline
            try:
                if found := await self._next():
                    return found
                self._patience.renew()
            except StoreError:
                if self._patience.is_over():
                    raise
                again = min(deadline, loop.time() + GLANCE)
            if self.position == before:
                with suppress(TimeoutError):
                    async with asyncio.timeout_at(None if again == math.inf else again):
                        await news.wait()
            if loop.time() >= deadline:
                return []

    async def _next(self) -> list[Entry]:
        """What there is now; reading moves the position, whether it found something of interest or not."""
        floor = self._feed.tail.floor
        entries = self._feed.tail.behind(self.position, self._limit)
        if entries is None:
            entries = await self._feed.read(self.position, self._limit)
            if not entries and floor is not None:
                # What stood in between was pruned.
                self.position = max(self.position, floor)
        if entries:
            self.position = entries[-1].position
            self._limit = _next_limit(self._limit, entries)
        return [entry for entry in entries if self._interest.takes(entry)]

    async def __aiter__(self) -> AsyncIterator[Entry]:
        """Every event of interest, for ever."""
        while True:
            for entry in await self.read():
                yield entry

    def close(self) -> None:
        """Read no more. It may be called from whatever thread."""
        self._feed.leave(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _next_limit(limit: int, entries: Sequence[Entry]) -> int:
    """How many to read next: more while they are small, so that nobody holds much while it is not read."""
    is_heavy = sum(map(_characters, entries)) > _HEAVY
    return max(limit // 2, 1) if is_heavy else min(limit * 2, AT_ONCE)


def _characters(entry: Entry) -> int:
    return len(entry.event.payload or "")
