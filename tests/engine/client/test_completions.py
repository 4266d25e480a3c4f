"""Waiting for jobs: many waiters, one listener; hints that are lost, and stores that go away."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID, uuid4

import pytest

from tenure.core.errors import JobNotFound, StoreUnavailable
from tenure.core.model.job import Job
from tenure.core.model.states import State
from tenure.engine.client.completions import Completions
from tenure.storage.contract.store import Store, Wakeups
from tests.storage.backends import Backend
from tests.storage.verbs import PATIENCE, claim, enqueue_one, settle, succeeded, unrecoverable


class Watched:
    """A store that counts its listeners and can be made to fail; otherwise the store itself."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.listeners = 0
        self.most_listeners = 0
        self.failures = 0
        self.deaf = False
        self.is_listening = asyncio.Event()
        self.is_quiet = asyncio.Event()

    async def get(self, job: UUID) -> Job | None:
        if self.failures:
            self.failures -= 1
            raise StoreUnavailable("gone for a moment")
        return await self._store.get(job)

    @asynccontextmanager
    async def listen(self, *, endings: bool = False) -> AsyncIterator[Wakeups]:
        assert endings
        self.listeners += 1
        self.most_listeners = max(self.listeners, self.most_listeners)
        self.is_listening.set()
        try:
            async with self._store.listen(endings=endings) as wakeups:
                yield Deaf() if self.deaf else wakeups
        finally:
            self.listeners -= 1
            self.is_quiet.set()


class Deaf:
    """Hints that never come."""

    is_live = False

    def call(self, on_hint: Callable[[], None]) -> None:
        """In vain."""

    async def wait(self, timeout: float) -> bool:
        await asyncio.sleep(timeout)
        return False


@pytest.fixture
def watched(store: Store) -> Any:
    """The store under a waiter's eyes."""
    return Watched(store)


@pytest.fixture
async def endings(watched: Any) -> AsyncIterator[Completions]:
    """A waiter."""
    made = Completions(watched)
    yield made
    await made.close()


async def end_by_another(backend: Backend, *jobs: UUID) -> None:
    """Let a worker in another process, as it were, do the jobs."""
    worker = backend.store()
    await worker.open()
    try:
        owned = await claim(worker, limit=100)
        assert {one.lease.job for one in owned} >= set(jobs)
        await settle(worker, [succeeded(one) for one in owned])
    finally:
        await worker.close()


async def test_a_waiter_is_told_when_another_process_ends_the_job(
    endings: Completions, store: Store, backend: Backend
) -> None:
    """S0.2: a caller can learn the outcome."""
    job = await enqueue_one(store)
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(endings.wait(job, PATIENCE))
        await end_by_another(backend, job)
    assert waiting.result().state is State.SUCCEEDED


async def test_a_job_that_has_ended_is_not_waited_for(
    endings: Completions, store: Store, watched: Any
) -> None:
    job = await enqueue_one(store)
    [owned] = await claim(store)
    await settle(store, [unrecoverable(owned)])
    assert (await endings.wait(job, None)).state is State.FAILED
    assert watched.most_listeners == 0


async def test_many_waiters_share_one_listener(
    endings: Completions, store: Store, backend: Backend, watched: Any
) -> None:
    jobs = [await enqueue_one(store) for _ in range(40)]
    async with asyncio.TaskGroup() as group:
        waiting = [group.create_task(endings.wait(job, PATIENCE)) for job in jobs for _ in range(2)]
        await end_by_another(backend, *jobs)
    assert {task.result().id for task in waiting} == set(jobs)
    assert watched.most_listeners == 1


async def test_nobody_listens_when_nobody_waits(endings: Completions, store: Store, watched: Any) -> None:
    job = await enqueue_one(store)
    with pytest.raises(TimeoutError, match=f"job {job} had not ended after 0.05 s"):
        await endings.wait(job, 0.05)
    async with asyncio.timeout(PATIENCE):
        await watched.is_quiet.wait()


async def test_a_lost_hint_only_delays(
    endings: Completions, store: Store, backend: Backend, watched: Any
) -> None:
    watched.deaf = True
    job = await enqueue_one(store)
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(endings.wait(job, PATIENCE))
        await watched.is_listening.wait()
        await end_by_another(backend, job)
    assert waiting.result().state is State.SUCCEEDED


async def test_a_store_that_is_gone_for_a_moment_is_waited_for(
    endings: Completions, store: Store, backend: Backend, watched: Any
) -> None:
    job = await enqueue_one(store)
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(endings.wait(job, PATIENCE))
        await watched.is_listening.wait()
        watched.failures = 1
        await end_by_another(backend, job)
    assert waiting.result().state is State.SUCCEEDED
    assert watched.failures == 0


async def test_an_unknown_job_is_not_waited_for(endings: Completions) -> None:
    unknown = uuid4()
    with pytest.raises(JobNotFound, match=str(unknown)):
        await endings.wait(unknown, PATIENCE)


async def test_closing_ends_every_wait(endings: Completions, store: Store, watched: Any) -> None:
    job = await enqueue_one(store)
    waiting = asyncio.create_task(endings.wait(job, PATIENCE))
    await watched.is_listening.wait()
    await endings.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        await waiting


async def test_a_waiter_that_gives_up_takes_nobody_with_it(
    endings: Completions, store: Store, backend: Backend
) -> None:
    job = await enqueue_one(store)
    patient = asyncio.create_task(endings.wait(job, PATIENCE))
    hasty = asyncio.create_task(endings.wait(job, PATIENCE))
    await asyncio.sleep(0)
    hasty.cancel()
    await end_by_another(backend, job)
    assert (await patient).state is State.SUCCEEDED
