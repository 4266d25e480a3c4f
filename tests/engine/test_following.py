"""Following one job: every change and every line is told, through outages, and nothing after the end."""

import asyncio
from typing import Any
from uuid import UUID, uuid4

import pytest

from tenure.core.errors import InvalidInput, JobNotFound, StoreUnavailable
from tenure.core.job import Job
from tenure.core.lease import Claimed
from tenure.core.states import State
from tenure.engine import following, waiting
from tenure.engine.following import Said
from tenure.storage.contract import Store
from tests.storage.telling import PATIENCE, claim, enqueue_one, line, settle, succeeded, trail


class Failing:
    """A store whose first looks at a job fail; otherwise the store itself."""

    def __init__(self, store: Store, failures: int) -> None:
        self._store = store
        self.failures = failures

    async def get(self, job: UUID) -> Job | None:
        if self.failures:
            self.failures -= 1
            raise StoreUnavailable("gone for a moment")
        return await self._store.get(job)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look often: the tests wait for what they have brought about."""
    monkeypatch.setattr(following, "GLANCE", 0.001)


async def _claim_one(store: Store) -> Claimed:
    [owned] = await claim(store)
    return owned


async def test_changes_are_told_until_the_job_has_ended(store: Store) -> None:
    job = await enqueue_one(store)
    seen: asyncio.Queue[State] = asyncio.Queue()
    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as group:
        watching = group.create_task(following.watch(store, job, lambda found: seen.put_nowait(found.state)))
        assert await seen.get() is State.QUEUED
        owned = await _claim_one(store)
        assert await seen.get() is State.RUNNING
        await settle(store, [succeeded(owned)])
        assert await seen.get() is State.SUCCEEDED
        assert (await watching).result == '{"ok":true}'
    assert seen.empty()


async def test_an_outage_that_ends_is_outlasted(store: Store) -> None:
    job = await enqueue_one(store)
    await store.cancel([job])
    failing: Any = Failing(store, failures=3)
    assert (await following.watch(failing, job, lambda _: None)).state is State.CANCELLED
    assert failing.failures == 0


async def test_an_outage_that_does_not_end_is_told(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "LONGEST_OUTAGE", 0.01)
    job = await enqueue_one(store)
    failing: Any = Failing(store, failures=10**9)
    with pytest.raises(StoreUnavailable, match="gone for a moment"):
        await following.watch(failing, job, lambda _: None)
    with pytest.raises(StoreUnavailable, match="gone for a moment"):
        await following.read_log(failing, job, lambda _: None)


async def test_a_job_that_is_not_there_is_not_waited_for(store: Store) -> None:
    with pytest.raises(JobNotFound):
        await following.watch(store, uuid4(), lambda _: None)
    with pytest.raises(JobNotFound):
        await following.read_log(store, uuid4(), lambda _: None, follow=True)


async def test_more_lines_than_one_reading_brings_come_once_and_in_order(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "_LINES", 2)
    job = await enqueue_one(store)
    owned = await _claim_one(store)
    await store.record("a", [trail(owned, *[line(n, str(n)) for n in range(1, 6)])])
    heard: list[Said] = []
    await following.read_log(store, job, heard.append)
    assert [said.line.text for said in heard] == ["1", "2", "3", "4", "5"]
    assert {(said.attempt, said.fence) for said in heard} == {(1, owned.lease.fence)}


async def test_following_an_attempt_waits_for_it_to_come(store: Store) -> None:
    job = await enqueue_one(store)
    heard: asyncio.Queue[Said] = asyncio.Queue()
    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as group:
        group.create_task(following.read_log(store, job, heard.put_nowait, attempt=1, follow=True))
        owned = await _claim_one(store)
        await store.record("a", [trail(owned, line(1, "at last"))])
        assert (await heard.get()).line.text == "at last"
        await settle(store, [succeeded(owned)])
    assert heard.empty()
    with pytest.raises(InvalidInput, match="has had 1"):
        await following.read_log(store, job, heard.put_nowait, attempt=2, follow=True)
