"""A backup is taken under load, an hour is lost, the backup is restored: what was in it goes on."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from uuid import UUID

import pytest

from tenure.core.errors import PositionGone, StoreRestored
from tenure.core.model.lease import Claimed, Lease, Line
from tenure.core.model.states import State
from tenure.core.reports.reading import FeedEntry
from tenure.core.reports.restores import LIFT, Resumed
from tenure.storage.contract.store import Store
from tests.storage.restores.backups import Backup, Dump, opened
from tests.storage.verbs import (
    claim,
    enqueue_one,
    fed,
    found,
    hold_together,
    one_in_each_state,
    path_of,
    settle,
    state_of,
    succeeded,
)
from tests.until import until
from tests.worker.running_worker import enqueue, reach, run_worker

LOAD = Line("default", "load")
QUEUED = Line("default", State.QUEUED.value)


@asynccontextmanager
async def under_load(store: Store) -> AsyncIterator[None]:
    """Jobs come, run and end beside the test, some before it goes on."""
    ended: list[Lease] = []

    async def live() -> None:
        while True:
            await enqueue_one(store, "load")
            owned = await claim(store, "load", lines=[LOAD])
            ended.extend((await settle(store, map(succeeded, owned), "load")).accepted)

    tasks = [asyncio.create_task(live()) for _ in range(3)]
    try:
        await until(lambda: len(ended) > 10)
        yield
    finally:
        assert not any(task.done() for task in tasks)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def history(store: Store, *jobs: UUID) -> list[FeedEntry]:
    """The whole feed, once it has all of these jobs' events."""
    number = sum([(await found(store, job)).events for job in jobs])
    return await fed(store, number)


@pytest.fixture
async def new(backup: Backup, old: Store, tmp_path: Path) -> AsyncIterator["Lost"]:
    """The store restored, after the old one has lived on for an hour that is lost."""
    jobs = await one_in_each_state(old)
    seen = await history(old, *jobs.values())
    async with under_load(old):
        await backup.take(tmp_path / "backup")
    [owned] = await claim(old, "w", lines=[QUEUED])
    accepted = await enqueue_one(old)
    everything = await history(old, *jobs.values(), accepted)
    store = await opened(await backup.restore(tmp_path / "backup"))
    yield Lost(store, jobs, seen, owned, accepted, everything, isinstance(backup, Dump))
    await store.close()


class Lost:
    """A restored store, and what is known of the one that was lost."""

    def __init__(
        self,
        store: Store,
        jobs: dict[State, UUID],
        seen: list[FeedEntry],
        owned: Claimed,
        accepted: UUID,
        everything: list[FeedEntry],
        is_noticed: bool,
    ) -> None:
        self.store = store
        self.jobs = jobs
        self.seen = seen
        self.owned = owned
        self.accepted = accepted
        self.everything = everything
        self.is_noticed = is_noticed

    async def go_on(self) -> None:
        """What `tenure migrate --after-restore` does."""
        assert isinstance(await self.store.resume_after_restore(), Resumed)
        await self.store.reap(1000)


async def test_a_store_that_cannot_go_on_says_so_until_it_was_repaired(new: Lost) -> None:
    """A file is as good as ever: only a server counts by itself."""
    if new.is_noticed:
        assert await new.store.feed() == []  # that is the harm
        with pytest.raises(StoreRestored, match="tenure migrate --after-restore"):
            await new.store.verify()
    await new.go_on()
    await new.store.verify()
    assert await new.store.inspect() == []


async def test_history_is_there_as_it_was_and_what_comes_stands_behind_it(new: Lost) -> None:
    """For who begins anew, and for who had read only what was in the backup."""
    await new.go_on()
    entries = await history(new.store, *new.jobs.values())
    positions = [entry.position for entry in entries]
    assert all(one < following for one, following in pairwise(positions))
    kept = [entry for entry in entries if entry.position <= new.everything[-1].position]
    of_old = {entry.position: entry for entry in new.everything}
    assert [of_old[entry.position] for entry in kept] == kept
    assert entries[: len(new.seen)] == new.seen
    assert entries[len(kept) :] == await fed(new.store, 0, after=kept[-1].position)
    assert {entry.event.type for entry in entries[len(kept) :]} >= {"orphaned", "cancelled"}
    assert await fed(new.store, 0, after=new.seen[-1].position) == entries[len(new.seen) :]
    for job in {entry.event.job for entry in entries}:
        assert hold_together(await new.store.events(job))
    later = [await enqueue_one(new.store) for _ in range(3)]
    assert [entry.event.job for entry in await fed(new.store, 3, after=positions[-1])] == later


async def test_a_reader_of_the_lost_hour_is_told(new: Lost) -> None:
    """Before the repair, and for ever after it."""
    lost = new.everything[-1].position
    with pytest.raises(PositionGone):
        await new.store.feed(lost)
    await new.go_on()
    for _ in range(3):
        await enqueue_one(new.store)
    with pytest.raises(PositionGone):
        await new.store.feed(lost)


async def test_what_was_accepted_after_the_backup_is_lost_and_nothing_else(new: Lost) -> None:
    await new.go_on()
    assert await new.store.get(new.accepted) is None
    owned = {State.RUNNING: State.QUEUED, State.CANCELLING: State.CANCELLED}
    for state, job in new.jobs.items():
        assert await state_of(new.store, job) is owned.get(state, state)


async def test_a_worker_of_the_lost_hour_settles_nothing(new: Lost) -> None:
    """Its job waits again, and whoever claims it has another fence, even under the same name."""
    await new.go_on()
    assert (await settle(new.store, [succeeded(new.owned)], "w")).lost == [new.owned.lease]
    [again] = await claim(new.store, "w", lines=[QUEUED])
    assert again.lease.job == new.owned.lease.job
    assert again.lease.fence > new.owned.lease.fence + LIFT // 2
    assert (await settle(new.store, [succeeded(new.owned)], "w")).lost == [new.owned.lease]
    assert (await settle(new.store, [succeeded(again)], "w")).accepted == {again.lease: State.SUCCEEDED}


async def test_workers_run_on(new: Lost) -> None:
    """And readers see what they do."""
    await new.go_on()
    async with run_worker(new.store):
        job = await enqueue(new.store, "echo")
        await reach(new.store, job, State.SUCCEEDED)
    assert await path_of(new.store, job) == ["queued", "started", "succeeded"]
    told = [entry.event for entry in await history(new.store, job) if entry.event.job == job]
    assert told == await new.store.events(job)
