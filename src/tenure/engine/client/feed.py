"""The feed of all events, followed once for all readers in the process.

A reader is only a position and an interest. One task reads the feed, after each hint of the store and from
time to time without one, and keeps the last part of it in memory: the tail. A reader whose position is within
the tail reads from there. One that has fallen behind the tail, or begins far back, reads the store itself
until it has caught up. Nothing is queued for a reader: one that does not come costs nothing and misses
nothing.

The task lives while there are readers. It waits for a store that is away, though not for ever.
"""

import asyncio
import math
from bisect import bisect_right
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Self

from tenure.core.errors import StoreError, StoreUnavailable
from tenure.core.reports.reading import EVERYTHING, FeedEntry, Interest, Position
from tenure.engine.client.completions import OutagePatience
from tenure.storage.contract.store import Store, Wakeups

AT_ONCE = 250
"""The most events of one reading."""

GLANCE = 0.5
"""Seconds after which it looks without a hint. On PostgreSQL a claim gives no hint."""

_FEW = 16
"""Events of a reader's first reading."""

_HEAVY = 2**18
"""Characters in one reading above which the next one asks for fewer events."""

_MOST_KEPT = 2000
_MOST_CHARACTERS = 4 * 2**20
PACE = 0.05
"""The least seconds between two looks: what happens meanwhile is read together."""

_AGAIN = 0.1
"""Seconds after a hint until the second look; the next waits double, and so on.

The event of a hint may be hidden by a transaction that is still open.
"""


class Feed:
    """Lets any number of readers follow the events of a store."""

    def __init__(self, store: Store) -> None:
        self.tail = Tail()
        self.news = asyncio.Event()
        """Is set, and replaced by a new one, whenever there is something to read."""
        self._store = store
        self._readers: set[Reader] = set()
        self._task: asyncio.Task[None] | None = None

    async def subscribe(self, interest: Interest = EVERYTHING, *, after: Position | None = None) -> "Reader":
        """A reader of what comes after a position, or from now on; the caller closes it.

        Raises PositionGone for a position that the store does not know.
        """
        start = await self.end() if after is None else after
        if after is not None:
            await self.check(after)
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

    async def read(self, after: Position, limit: int) -> list[FeedEntry]:
        """What the store has after a position, for a reader outside the tail."""
        return await self._store.feed(after, limit=limit)

    async def check(self, position: Position) -> None:
        """Raise PositionGone unless the store knows this position: the tail alone cannot tell."""
        await self._store.feed(position, limit=1)

    def leave(self, reader: "Reader") -> None:
        """Forget a reader."""
        self._readers.discard(reader)

    async def _follow(self) -> None:
        """Read on while there are readers."""
        patience = OutagePatience()
        try:
            while self._readers:
                try:
                    async with self._store.listen(changes=True) as wakeups:
                        rest = GLANCE
                        while self._readers:
                            await self._read_on()
                            patience.renew()
                            rest = await _rest(wakeups, rest)
                except StoreError as error:
                    if patience.is_over():
                        self._fail_all(error)
                    await asyncio.sleep(GLANCE)
        except Exception as error:
            # The store was restored meanwhile, or a bug: readers must not wait for ever.
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
            # However much there is to read, half of the time is left for other work.
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


async def _rest(wakeups: Wakeups, rest: float) -> float:
    """Wait for a hint; returns how long to wait for the next one."""
    if await wakeups.wait(rest):
        return _AGAIN
    return min(2 * rest, GLANCE)


class Tail:
    """The last part of the feed: all after `floor`, up to `head`; both are None before it begins."""

    def __init__(self) -> None:
        self.floor: Position | None = None
        self.head: Position | None = None
        self._entries: list[FeedEntry] = []
        self._characters = 0

    def begin(self, at: Position) -> None:
        """Start at a position: only what comes after it is known."""
        self.floor = self.head = at

    def add(self, entries: Sequence[FeedEntry]) -> None:
        """Add events at the end, and drop the first ones if there are too many."""
        self._entries += entries
        self._characters += sum(map(_characters, entries))
        self.head = entries[-1].position
        spare = 0
        while len(self._entries) - spare > _MOST_KEPT or self._characters > _MOST_CHARACTERS:
            self._characters -= _characters(self._entries[spare])
            self.floor = self._entries[spare].position
            spare += 1
        del self._entries[:spare]

    def behind(self, position: Position, limit: int) -> list[FeedEntry] | None:
        """The next events after a position; None if the tail may have dropped some of them."""
        if self.floor is None or position < self.floor:
            return None
        first = bisect_right(self._entries, position, key=lambda entry: entry.position)
        return self._entries[first : first + limit]


class Reader:
    """Follows the feed; it reads on after `position`."""

    def __init__(self, feed: Feed, interest: Interest, position: Position) -> None:
        self.position = position
        self.failure: Exception | None = None
        self._feed = feed
        self._interest = interest
        self._patience = OutagePatience()
        self._limit = _FEW

    async def read(self, timeout: float | None = None) -> list[FeedEntry]:
        """Wait for the next events of interest; empty if none came within so many seconds.

        Raises StoreError if the store has not answered for long, or was closed.
        """
        loop = asyncio.get_running_loop()
        deadline = math.inf if timeout is None else loop.time() + timeout
        while True:
            # Before the look: what comes right after it then sets this event.
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

    async def _next(self) -> list[FeedEntry]:
        """What there is now; reading moves the position even if nothing is of interest."""
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

    async def __aiter__(self) -> AsyncIterator[FeedEntry]:
        """Every event of interest, for ever."""
        while True:
            for entry in await self.read():
                yield entry

    def close(self) -> None:
        """Read no more. Any thread may call it."""
        self._feed.leave(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _next_limit(limit: int, entries: Sequence[FeedEntry]) -> int:
    """How many events to read next: more while they are small, so that a slow reader holds little memory."""
    is_heavy = sum(map(_characters, entries)) > _HEAVY
    return max(limit // 2, 1) if is_heavy else min(limit * 2, AT_ONCE)


def _characters(entry: FeedEntry) -> int:
    return len(entry.event.payload or "")
