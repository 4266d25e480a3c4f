"""Jobs that were put aside continue once their rows are mended."""

from datetime import timedelta
from uuid import UUID

import pytest

from tenure.core.errors import DataRefused
from tenure.core.model.aside import JobsAside
from tenure.core.model.outcome import Ending
from tenure.core.model.policy import OnLost, Policy
from tenure.core.model.states import State
from tenure.core.reports.reading import Filter
from tenure.storage.contract.store import Store
from tests.storage import damaged_rows
from tests.storage.aside_jobs import guilty_one, many, put_aside
from tests.storage.backends import Backend
from tests.storage.clock import Clock
from tests.storage.verbs import (
    MAIL,
    claim,
    enqueue_one,
    found,
    hold_together,
    path_of,
    recoverable,
    seconds,
    settle,
    state_of,
    stopped,
    succeeded,
    unrecoverable,
)


async def test_the_lease_stays_its_neighbours(store: Store, backend: Backend, clock: Clock) -> None:
    """S0.14: neither longer nor shorter than it was, though it is lent to settle the one that was aside."""
    await many(store, 3)
    batch = await claim(store)
    await damaged_rows.next_event(backend.address, batch[0].lease.job)
    await put_aside(store, [succeeded(batch[0])])
    await damaged_rows.mend(backend.address, batch[0].lease.job)
    before = await found(store, batch[1].lease.job)

    await clock.advance(seconds(29))
    await store.put_back(batch[0].lease.job)

    assert await found(store, batch[1].lease.job) == before
    assert (await settle(store, [succeeded(batch[1])])).accepted
    await clock.advance(seconds(1))
    assert (await settle(store, [succeeded(batch[2])])).lost
    assert [moved.job for moved in await store.reap(10)] == [batch[2].lease.job]


async def test_a_report_that_was_kept_counts_once_the_job_is_mended(
    store: Store, backend: Backend, clock: Clock
) -> None:
    """It had come in time; that the lease has run out meanwhile is nobody's fault."""
    await many(store, 2)
    guilty, other = await claim(store)
    await damaged_rows.result(backend.address, guilty.lease.job)
    await put_aside(store, [succeeded(guilty, '{"kept":true}')])
    await clock.advance(timedelta(hours=2))
    await damaged_rows.mend(backend.address, guilty.lease.job)

    standing = await store.put_back(guilty.lease.job)

    assert standing is not None
    assert (standing.state, standing.moved) == (State.SUCCEEDED, True)
    job = await found(store, guilty.lease.job)
    assert job.result == '{"kept":true}'
    events = await store.events(guilty.lease.job)
    assert hold_together(events)
    assert (events[-1].type, events[-1].actor, events[-1].fence) == ("succeeded", "a", guilty.lease.fence)
    assert [moved.job for moved in await store.reap(10)] == [other.lease.job]
    assert (await store.asides()).jobs == []
    assert (await store.counts(Filter()))[State.RUNNING].n == 0


async def test_an_attempt_that_reported_nothing_is_taken_from_its_owner(
    store: Store, backend: Backend, clock: Clock
) -> None:
    """As the reaper does: under its fence, and one attempt is spent."""
    job = await enqueue_one(store)
    [owned] = await claim(store)
    await damaged_rows.next_event(backend.address, job)
    await clock.advance(seconds(31))
    with pytest.raises(JobsAside):
        await store.reap(10)
    await damaged_rows.mend(backend.address, job)

    standing = await store.put_back(job)

    assert standing is not None
    assert (standing.state, standing.moved) == (State.QUEUED, True)
    assert (await path_of(store, job))[-1] == "orphaned"
    [again] = await claim(store, worker="b")
    assert (again.lease.job, again.attempt) == (job, 2)
    assert (await settle(store, [succeeded(owned)])).lost == [owned.lease]
    assert (await settle(store, [succeeded(again)], worker="b")).accepted


async def test_what_must_not_run_twice_does_not(store: Store, backend: Backend, clock: Clock) -> None:
    job = await enqueue_one(store, policy=Policy(on_lost=OnLost.BURY))
    await claim(store)
    await damaged_rows.next_event(backend.address, job)
    await clock.advance(seconds(31))
    with pytest.raises(JobsAside):
        await store.reap(10)
    await damaged_rows.mend(backend.address, job)
    standing = await store.put_back(job)
    assert standing is not None
    assert standing.state is State.BURIED


async def test_jobs_that_waited_go_on_waiting_where_they_were(
    store: Store, backend: Backend, clock: Clock
) -> None:
    queued, later = await many(store, 2)
    scheduled = await enqueue_one(store, delay=seconds(5))
    given_up = await enqueue_one(store, "other")
    [failing] = await claim(store, lines=[type(MAIL)("default", "other")])
    await settle(store, [recoverable(failing)])
    await store.give_up([given_up])
    for job in (queued, scheduled, given_up):
        await damaged_rows.next_event(backend.address, job)
    with pytest.raises(JobsAside):
        await claim(store)
    await clock.advance(seconds(6))
    with pytest.raises(JobsAside):
        await store.promote(10)
    assert (await store.asides()).in_all == 3

    for job in (queued, scheduled, given_up):
        await damaged_rows.mend(backend.address, job)
        standing = await store.put_back(job)
        assert standing is not None
        assert standing.moved

    assert {one.job: one.target for one in await store.promote(10)} == {
        scheduled: State.QUEUED,
        given_up: State.FAILED,
    }
    assert [one.lease.job for one in await claim(store)] == [queued, later, scheduled]


async def test_what_was_not_mended_is_refused_again_and_stays_aside(store: Store, backend: Backend) -> None:
    owned = await guilty_one(store, backend)
    await put_aside(store, [unrecoverable(owned)])
    before = await store.asides()
    with pytest.raises(DataRefused):
        await store.put_back(owned.lease.job)
    assert await store.asides() == before
    assert await state_of(store, owned.lease.job) is State.RUNNING


async def test_only_what_is_aside_is_put_back_and_only_once(store: Store, backend: Backend) -> None:
    owned = await guilty_one(store, backend)
    other = await enqueue_one(store)
    await put_aside(store, [succeeded(owned)])
    await damaged_rows.mend(backend.address, owned.lease.job)
    moved = [standing.moved for _ in range(2) if (standing := await store.put_back(owned.lease.job))]
    assert moved == [True, False]
    untouched = await store.put_back(other)
    assert untouched is not None
    assert (untouched.state, untouched.moved) == (State.QUEUED, False)
    assert await store.put_back(UUID(int=7)) is None


async def test_a_report_that_leads_nowhere_is_no_report(store: Store, backend: Backend) -> None:
    """Nobody had asked this attempt to stop; its word that it did so counts for nothing, as ever."""
    job = await enqueue_one(store)
    [owned] = await claim(store)
    await damaged_rows.no_lease(backend.address, job)
    [aside] = await store.strand("a", [stopped(owned)])
    assert aside.ending is Ending.STOPPED
    standing = await store.put_back(job)
    assert standing is not None
    assert standing.state is State.QUEUED
