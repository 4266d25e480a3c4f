"""The feed for many readers: read once for all, nothing missed and nothing twice wherever a reader stands."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest

from tenure.core.errors import InvalidInput, StoreUnavailable
from tenure.core.model.job import NewJob
from tenure.core.reports.reading import START, FeedEntry, Interest, Position
from tenure.core.reports.retention import Retention
from tenure.engine.client import completions
from tenure.engine.client import feed as module
from tenure.engine.client.feed import Feed, Reader
from tenure.storage.contract.store import Store, Wakeups
from tests.storage.clock import Clock
from tests.storage.verbs import (
    PATIENCE,
    claim,
    enqueue_one,
    fed,
    one_in_each_state,
    seconds,
    settle,
    succeeded,
)
from tests.until import until


class Watched:
    """A store that counts readings and listeners, and can be made to fail; otherwise the store itself."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.readings: Counter[str] = Counter()
        """How often each task has read."""
        self.listeners = 0
        self.most_listeners = 0
        self.failures = 0
        self.is_quiet = asyncio.Event()

    async def feed(self, after: Position | None = None, *, limit: int = 1000) -> list[FeedEntry]:
        task = asyncio.current_task()
        self.readings[task.get_name() if task else ""] += 1
        if self.failures:
            self.failures -= 1
            raise StoreUnavailable("gone for a moment")
        return await self._store.feed(after, limit=limit)

    async def end_of_feed(self) -> Position:
        return await self._store.end_of_feed()

    @asynccontextmanager
    async def listen(self, *, changes: bool = False) -> AsyncIterator[Wakeups]:
        self.listeners += 1
        self.most_listeners = max(self.listeners, self.most_listeners)
        self.is_quiet.clear()
        try:
            async with self._store.listen(changes=changes) as wakeups:
                yield wakeups
        finally:
            self.listeners -= 1
            self.is_quiet.set()


@pytest.fixture
def watched(store: Store) -> Any:
    """The store under the eyes of the test."""
    return Watched(store)


@pytest.fixture
async def feed(watched: Any) -> AsyncIterator[Feed]:
    """A task that follows it."""
    made = Feed(watched)
    yield made
    await made.close()


async def taken(reader: Reader, number: int) -> list[FeedEntry]:
    """The next so many events."""
    entries: list[FeedEntry] = []
    async with asyncio.timeout(PATIENCE):
        while len(entries) < number:
            entries += await reader.read()
    return entries


async def finish_some(store: Store, number: int) -> None:
    """Let jobs come and go: three events each."""
    await store.enqueue([NewJob(definition="mail") for _ in range(number)])
    owned = await claim(store, limit=number)
    await settle(store, [succeeded(one) for one in owned])


async def test_many_readers_share_one_follower(feed: Feed, store: Store, watched: Any) -> None:
    """S1.72: a bus inside the process, in which every reader gets every event once and in one order."""
    readers = [await feed.subscribe() for _ in range(40)]
    async with asyncio.TaskGroup() as group:
        reading = [group.create_task(taken(reader, 90)) for reader in readers]
        await finish_some(store, 30)
    whole = await fed(store, 90)
    assert all(task.result() == whole for task in reading)
    assert watched.most_listeners == 1
    assert watched.readings.keys() == {"tenure-feed"}


async def test_waiting_readers_ask_the_store_for_nothing(feed: Feed, watched: Any, monkeypatch: Any) -> None:
    """However many they are: one look now and then serves all."""
    monkeypatch.setattr(module, "GLANCE", 0.01)
    readers = [await feed.subscribe() for _ in range(20)]
    reading = [asyncio.create_task(reader.read()) for reader in readers]
    await until(lambda: watched.readings["tenure-feed"] >= 5)
    for task in reading:
        task.cancel()
    assert watched.readings.keys() == {"tenure-feed"}


async def test_who_comes_later_hears_only_what_comes_later(feed: Feed, store: Store) -> None:
    await enqueue_one(store)
    await fed(store, 1)
    with await feed.subscribe() as reader:
        later = await enqueue_one(store)
        [entry] = await taken(reader, 1)
    assert entry.event.job == later


async def test_who_goes_on_from_a_position_misses_nothing(feed: Feed, store: Store) -> None:
    """Wherever that is, and however the position was kept."""
    await finish_some(store, 10)
    whole = await fed(store, 30)
    for seen in (0, 1, 17, 29):
        start = whole[seen - 1].position if seen else START
        with await feed.subscribe(after=Position.read(str(start))) as reader:
            assert await taken(reader, 30 - seen) == whole[seen:]
    with await feed.subscribe(after=whole[-1].position) as reader:
        assert await reader.read(timeout=0) == []


async def test_readers_at_every_pace_meet_at_the_end(feed: Feed, store: Store, monkeypatch: Any) -> None:
    """The tail holds less than a slow reader is behind: it reads the store, and returns to the tail."""
    monkeypatch.setattr(module, "_MOST_KEPT", 10)
    hasty, slow = await feed.subscribe(), await feed.subscribe()
    read: dict[Reader, list[FeedEntry]] = {hasty: [], slow: []}
    for _ in range(6):
        await finish_some(store, 8)
        read[hasty] += await taken(hasty, 24)
        read[slow] += await slow.read()
    read[slow] += await taken(slow, 144 - len(read[slow]))
    whole = await fed(store, 144)
    assert read[hasty] == read[slow] == whole
    with await feed.subscribe(after=START) as late:
        assert await taken(late, 144) == whole


async def test_a_reader_hears_of_what_it_is_interested_in(feed: Feed, store: Store) -> None:
    jobs = [
        await enqueue_one(store, "mail", queue="slow"),
        await enqueue_one(store, "post", namespace="theirs"),
        await enqueue_one(store, "mail"),
    ]
    await store.cancel(jobs)
    whole = await fed(store, 6)
    wanted = {
        Interest(definition="mail"): {0, 2},
        Interest(queue="slow"): {0},
        Interest(namespace="theirs"): {1},
        Interest(job=jobs[2]): {2},
        Interest(definition="mail", queue="default"): {2},
        Interest(definition="post", queue="slow"): set(),
    }
    for interest, places in wanted.items():
        expected = [entry for entry in whole if entry.event.job in {jobs[place] for place in places}]
        with await feed.subscribe(interest, after=START) as reader:
            assert await taken(reader, len(expected)) == expected
            assert await reader.read(timeout=0) == []
            assert reader.position >= whole[-1].position
    with await feed.subscribe(Interest(types=frozenset({"cancelled"})), after=START) as reader:
        assert [entry.event.type for entry in await taken(reader, 3)] == ["cancelled"] * 3


@pytest.mark.parametrize("kind", ["cancel", "", "custom:", "custom:?", "Queued"])
def test_an_interest_in_what_no_event_is_is_refused(kind: str) -> None:
    with pytest.raises(InvalidInput, match="type"):
        Interest(types=frozenset({kind}))


@pytest.mark.parametrize(
    "text", ["", "1", "0.0", f"1.{'0' * 32}", f"1.{'g' * 32}.1", f"{2**63}.{'0' * 32}.1"]
)
def test_what_is_no_position_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="position"):
        Position.read(text)


async def test_what_is_pruned_under_a_slow_reader_is_passed_over(
    feed: Feed, store: Store, clock: Clock, monkeypatch: Any
) -> None:
    monkeypatch.setattr(module, "_MOST_KEPT", 1)
    jobs = await one_in_each_state(store)
    with await feed.subscribe(after=START) as slow, await feed.subscribe() as hasty:
        await finish_some(store, 5)
        await taken(hasty, 15)
        await clock.advance(seconds(1))
        await store.prune(Retention(succeeded=timedelta(0), others=timedelta(0)))
        left = {job for state, job in jobs.items() if not state.is_final}
        last = await enqueue_one(store)
        entries: list[FeedEntry] = []
        while not entries or entries[-1].event.job != last:
            entries += await taken(slow, 1)
    assert {entry.event.job for entry in entries} >= {*left, last}


async def test_a_store_that_is_gone_for_a_moment_is_waited_for(
    feed: Feed, store: Store, watched: Any, monkeypatch: Any
) -> None:
    monkeypatch.setattr(module, "GLANCE", 0.01)
    with await feed.subscribe() as reader, await feed.subscribe(after=START) as behind:
        watched.failures = 3
        await finish_some(store, 3)
        assert await taken(reader, 9) == await taken(behind, 9) == await fed(store, 9)
        assert watched.failures == 0


async def test_a_store_that_stays_away_is_told_of(feed: Feed, watched: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(module, "GLANCE", 0.01)
    monkeypatch.setattr(completions, "LONGEST_OUTAGE", 0.05)
    with await feed.subscribe() as reader, await feed.subscribe(after=START) as behind:
        watched.failures = 10**9
        for one in (reader, behind):
            with pytest.raises(StoreUnavailable):
                await taken(one, 1)
    watched.failures = 0


async def test_nobody_listens_when_nobody_reads(feed: Feed, watched: Any, monkeypatch: Any) -> None:
    """Not even from time to time: the task ends with the last reader, and starts again with the next."""
    monkeypatch.setattr(module, "GLANCE", 0.01)
    for _ in range(2):
        with await feed.subscribe() as reader:
            assert await reader.read(timeout=0.05) == []
        async with asyncio.timeout(PATIENCE):
            await watched.is_quiet.wait()
        assert watched.listeners == 0


async def test_closing_ends_every_reading(feed: Feed) -> None:
    reader = await feed.subscribe()
    reading = asyncio.create_task(reader.read())
    await asyncio.sleep(0)
    await feed.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        await reading
