"""After a restore: nobody acts on what is lost, and whoever has seen it is told."""

from itertools import pairwise
from uuid import UUID

import pytest

from tenure.core.errors import PositionGone
from tenure.core.model.lease import Line, Pulse
from tenure.core.model.states import State
from tenure.core.reports.operations import WORKER_ALIVE, WorkerInfo
from tenure.core.reports.reading import START, Position
from tenure.core.reports.restores import LIFT, Resumed, WorkersSeen
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend
from tests.storage.clock import Clock
from tests.storage.verbs import (
    MAIL,
    claim,
    enqueue_one,
    fed,
    found,
    job_in,
    one_in_each_state,
    path_of,
    seconds,
    settle,
    state_of,
    succeeded,
)

WORKER = WorkerInfo(id="a", host="here", pid=1, version="1", slots=1, lines=(MAIL,))
LOST = 2**20
"""How far the store had counted on when it was lost, behind its backup."""


async def resume(store: Store) -> int:
    """Let the store go on; returns how many leases ended."""
    answer = await store.resume_after_restore()
    assert isinstance(answer, Resumed)
    return answer.leases


async def test_every_lease_ends_and_the_reaper_takes_back_what_was_under_it(store: Store) -> None:
    """As from workers that were lost: with an event, and the attempt counted."""
    jobs = await one_in_each_state(store)
    before = {state: await state_of(store, job) for state, job in jobs.items()}
    assert await resume(store) >= 2  # those of settled jobs may still be there
    taken = {step.job: step.target for step in await store.reap(100)}
    assert taken == {jobs[State.RUNNING]: State.QUEUED, jobs[State.CANCELLING]: State.CANCELLED}
    assert (await path_of(store, jobs[State.RUNNING]))[-1] == "orphaned"
    for state, job in jobs.items():
        assert await state_of(store, job) is taken.get(job, before[state])
    assert await store.inspect() == []


async def test_an_owner_from_before_settles_nothing(store: Store) -> None:
    """Neither before the reaper came, nor after another worker has claimed the job."""
    job = await enqueue_one(store)
    [old] = await claim(store, worker="old")
    await resume(store)
    beat = await store.heartbeat(Pulse(worker="old", leases=(old.lease,), lease_for=seconds(30)))
    assert old.lease not in beat.kept
    assert (await settle(store, [succeeded(old)], worker="old")).lost == [old.lease]
    await store.reap(10)
    [new] = await claim(store, worker="old")
    assert (await settle(store, [succeeded(old)], worker="old")).lost == [old.lease]
    assert await state_of(store, job) is State.RUNNING
    assert (await settle(store, [succeeded(new)], worker="old")).accepted.keys() == {new.lease}


async def test_fences_and_places_are_above_all_that_may_have_been_given_out(
    store: Store, backend: Backend
) -> None:
    await enqueue_one(store)
    [old] = await claim(store)
    [(place,)] = await backend.sql("SELECT max(seq) FROM tenure.job_state")
    await resume(store)
    job = await enqueue_one(store)
    [(lifted,)] = await backend.sql("SELECT max(seq) FROM tenure.job_state")
    [new] = [one for one in await claim(store) if one.lease.job == job]
    assert new.lease.fence > old.lease.fence + LIFT
    assert lifted > place + LIFT


async def test_readers_see_all_of_history_and_what_comes_behind_it(store: Store) -> None:
    jobs = list((await one_in_each_state(store)).values())
    number = sum([(await found(store, job)).events for job in jobs])
    before = await fed(store, number)
    await resume(store)
    assert await fed(store, number) == before
    taken = await store.reap(100)
    later = [await enqueue_one(store) for _ in range(3)]
    after = await fed(store, len(taken) + 3, after=before[-1].position)
    assert [entry.event.job for entry in after] == [*(step.job for step in taken), *later]
    positions = [entry.position for entry in await fed(store, number + len(after))]
    assert all(one < next_one for one, next_one in pairwise(positions))
    assert positions == [entry.position for entry in [*before, *after]]


async def test_a_reader_that_has_seen_what_is_lost_is_told(store: Store) -> None:
    """Also when the store has counted beyond its place."""
    job = await job_in(store, State.SUCCEEDED)
    [*_, last] = await fed(store, 3)
    lost = Position(last.position.mark + LOST, UUID(int=7), 2)
    with pytest.raises(PositionGone, match="begin anew"):
        await store.feed(lost)
    await resume(store)
    await store.cancel([await enqueue_one(store)])
    for position in (lost, Position.behind(lost.mark)):
        with pytest.raises(PositionGone):
            await store.feed(position)
    assert len(await fed(store, 2, after=last.position)) == 2
    assert (await fed(store, 5, after=START))[0].event.job == job


async def test_a_place_that_a_stream_tells_is_known(store: Store) -> None:
    """The end of the feed, and the place right before an event."""
    await job_in(store, State.SUCCEEDED)
    await fed(store, 3)
    for _ in range(2):
        await resume(store)
        assert await store.feed(await store.end_of_feed()) == []
        end = await store.end_of_feed()
        job = await enqueue_one(store)
        [entry] = await fed(store, 1, after=end)
        assert entry.event.job == job
        assert await store.feed(Position.behind(entry.position.mark - 1)) == [entry]
        assert await store.feed(await store.end_of_feed()) == []


async def test_while_a_worker_was_seen_nothing_is_changed(store: Store, clock: Clock) -> None:
    """Its own word decides, by the store's clock."""
    await store.enlist(WORKER)
    before = await store.store_id()
    await enqueue_one(store)
    [owned] = await claim(store, lease_for=seconds(300))
    await clock.advance(WORKER_ALIVE)
    answer = await store.resume_after_restore()
    assert isinstance(answer, WorkersSeen)
    assert await store.store_id() == before
    assert [(worker.id, worker.host) for worker in answer.workers] == [("a", "here")]
    assert answer.now - answer.workers[0].seen_at == WORKER_ALIVE
    assert (await settle(store, [succeeded(owned)])).accepted.keys() == {owned.lease}
    await clock.advance(seconds(1))
    assert isinstance(await store.resume_after_restore(), Resumed)


async def test_a_worker_that_came_with_the_backup_is_passed_over_on_request(
    store: Store, backend: Backend
) -> None:
    """It may even be ahead of the new server's clock."""
    await store.enlist(WORKER)
    await enqueue_one(store, definition="mail")
    [owned] = await claim(store, lines=[Line("default", "mail")])
    assert isinstance(await store.resume_after_restore(), WorkersSeen)
    assert await store.resume_after_restore(forced=True) == Resumed(1)
    assert (await settle(store, [succeeded(owned)])).lost == [owned.lease]


async def test_a_database_that_goes_on_passes_the_check(store: Store) -> None:
    """However often it was restored."""
    await one_in_each_state(store)
    for _ in range(3):
        await resume(store)
        await store.verify()
        await enqueue_one(store)


async def test_messages_of_the_lost_store_are_told_from_those_that_come(
    store: Store, backend: Backend
) -> None:
    """A job may take another step under a number that a message already had."""
    before = await store.store_id()
    await resume(store)
    assert await store.store_id() != before
    assert [str(kept) for (kept,) in await backend.sql("SELECT store FROM tenure.restore")] == [str(before)]
