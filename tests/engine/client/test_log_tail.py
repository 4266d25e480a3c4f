"""Following one job: every change and every line is reported, through outages, and nothing after the end."""

import asyncio
from typing import Any
from uuid import UUID, uuid4

import pytest

from tenure.core.errors import InvalidInput, JobNotFound, StoreUnavailable
from tenure.core.model.job import Job
from tenure.core.model.lease import Claimed
from tenure.core.model.states import State
from tenure.engine.client import completions, log_tail
from tenure.engine.client.log_tail import AttemptLine
from tenure.storage.contract.store import Store
from tests.storage.verbs import PATIENCE, claim, enqueue_one, line, settle, succeeded, trail


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
    monkeypatch.setattr(log_tail, "GLANCE", 0.001)


async def _claim_one(store: Store) -> Claimed:
    [owned] = await claim(store)
    return owned


async def test_changes_are_told_until_the_job_has_ended(store: Store) -> None:
    job = await enqueue_one(store)
    seen: asyncio.Queue[State] = asyncio.Queue()
    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as group:
        watching = group.create_task(log_tail.watch(store, job, lambda found: seen.put_nowait(found.state)))
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
    assert (await log_tail.watch(failing, job, lambda _: None)).state is State.CANCELLED
    assert failing.failures == 0


async def test_an_outage_that_does_not_end_is_told(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(completions, "LONGEST_OUTAGE", 0.01)
    job = await enqueue_one(store)
    failing: Any = Failing(store, failures=10**9)
    with pytest.raises(StoreUnavailable, match="gone for a moment"):
        await log_tail.watch(failing, job, lambda _: None)
    with pytest.raises(StoreUnavailable, match="gone for a moment"):
        await log_tail.read_log(failing, job, lambda _: None)


async def test_a_job_that_is_not_there_is_not_waited_for(store: Store) -> None:
    with pytest.raises(JobNotFound):
        await log_tail.watch(store, uuid4(), lambda _: None)
    with pytest.raises(JobNotFound):
        await log_tail.read_log(store, uuid4(), lambda _: None, follow=True)


async def test_more_lines_than_one_reading_brings_come_once_and_in_order(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_tail, "_LINES", 2)
    job = await enqueue_one(store)
    owned = await _claim_one(store)
    await store.record("a", [trail(owned, *[line(n, str(n)) for n in range(1, 6)])])
    lines: list[AttemptLine] = []
    await log_tail.read_log(store, job, lines.append)
    assert [line.line.text for line in lines] == ["1", "2", "3", "4", "5"]
    assert {(line.attempt, line.fence) for line in lines} == {(1, owned.lease.fence)}


async def test_following_an_attempt_waits_for_it_to_come(store: Store) -> None:
    job = await enqueue_one(store)
    lines: asyncio.Queue[AttemptLine] = asyncio.Queue()
    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as group:
        group.create_task(log_tail.read_log(store, job, lines.put_nowait, attempt=1, follow=True))
        owned = await _claim_one(store)
        await store.record("a", [trail(owned, line(1, "at last"))])
        assert (await lines.get()).line.text == "at last"
        await settle(store, [succeeded(owned)])
    assert lines.empty()
    with pytest.raises(InvalidInput, match="has had 1"):
        await log_tail.read_log(store, job, lines.put_nowait, attempt=2, follow=True)
