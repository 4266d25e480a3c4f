"""Waiting for jobs in line: many waiters, one listener; hints that are lost, and stores that go away."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest

from tenure.core.errors import StoreUnavailable
from tenure.engine.client import arrivals
from tenure.engine.client.arrivals import Arrivals
from tenure.storage.contract.store import Store, Wakeups
from tests.storage.verbs import PATIENCE, enqueue_one
from tests.until import until


class Watched:
    """A store that counts its listeners, and whose `listen` fails a given number of times."""

    def __init__(self, store: Store, failures: int = 0) -> None:
        self._store = store
        self._failures = failures
        self.listeners = 0
        self.times = 0

    @asynccontextmanager
    async def listen(self) -> AsyncIterator[Wakeups]:
        self.times += 1
        if self.times <= self._failures:
            raise StoreUnavailable("gone for a moment")
        self.listeners += 1
        try:
            async with self._store.listen() as wakeups:
                yield wakeups
        finally:
            self.listeners -= 1


def on(store: Watched) -> Arrivals:
    return Arrivals(cast("Store", store))


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for long between two looks."""
    monkeypatch.setattr(arrivals, "SAFETY_POLL", 0.01)


async def test_many_who_wait_share_one_listener_that_goes_when_they_do(store: Store) -> None:
    watched = Watched(store)
    waiting = on(watched)
    # The first news is that the listener is up.
    await asyncio.gather(*(waiting.after(waiting.news, PATIENCE) for _ in range(20)))
    assert watched.times == 1
    known = waiting.news
    await enqueue_one(store)
    await asyncio.gather(*(waiting.after(known, PATIENCE) for _ in range(20)))
    assert waiting.news > known
    await until(lambda: not watched.listeners)
    await waiting.close()


@pytest.mark.usefixtures("hasty")
async def test_who_waits_is_woken_when_the_store_is_back(store: Store) -> None:
    watched = Watched(store, failures=3)
    waiting = on(watched)
    await waiting.after(waiting.news, PATIENCE)
    assert (watched.times, waiting.news >= 1) == (4, True)
    await waiting.close()


@pytest.mark.usefixtures("hasty")
async def test_a_store_that_stays_away_is_not_waited_for_for_ever(store: Store, monkeypatch: Any) -> None:
    monkeypatch.setattr("tenure.engine.client.completions.LONGEST_OUTAGE", 0.05)
    waiting = on(Watched(store, failures=10**9))
    with pytest.raises(StoreUnavailable):
        await waiting.after(waiting.news, PATIENCE)
    await waiting.close()


async def test_a_wait_ends_with_its_time_and_with_the_store(store: Store) -> None:
    waiting = on(Watched(store))
    await waiting.after(waiting.news, PATIENCE)
    await waiting.after(10**9, 0.05)
    left = asyncio.ensure_future(waiting.after(10**9, PATIENCE))
    await asyncio.sleep(0)  # for it to begin
    await waiting.close()
    with pytest.raises(StoreUnavailable):
        await left
