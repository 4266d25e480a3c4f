"""Settling: which reports count. Only the owner's, under its fence, while the lease holds, and only once."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from tenure.core.model.job import NewJob
from tenure.core.model.lease import Claimed, Lease
from tenure.core.model.outcome import Report
from tenure.core.model.states import OWNED, State
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend, Refused
from tests.storage.clock import Clock
from tests.storage.verbs import (
    claim,
    enqueue_one,
    found,
    job_in,
    path_of,
    record_of,
    recoverable,
    seconds,
    settle,
    state_of,
    stopped,
    succeeded,
    suspended,
    unrecoverable,
)

MOMENT = timedelta(microseconds=1)
OUTCOMES: list[Callable[[Claimed | Lease], Report]] = [
    succeeded,
    recoverable,
    unrecoverable,
    stopped,
    suspended,
]


async def test_a_lease_holds_until_its_last_moment(store: Store, clock: Clock) -> None:
    """S0.61: ownership holds while now is before the lease's end, and not at the end itself."""
    await store.enqueue([NewJob(definition="mail") for _ in range(2)])
    first, second = await claim(store, lease_for=seconds(30))

    await clock.advance(seconds(30) - MOMENT)
    assert (await settle(store, [succeeded(first)])).accepted == {first.lease: State.SUCCEEDED}

    await clock.advance(MOMENT)
    assert (await settle(store, [succeeded(second)])).lost == [second.lease]


@pytest.mark.parametrize("outcome", OUTCOMES)
async def test_late_is_late_even_before_the_reaper_came(
    store: Store, clock: Clock, outcome: Callable[[Claimed], Report]
) -> None:
    """S0.61, S0.62: a lease that has run out owns nothing; a report under it leaves no trace."""
    job = await enqueue_one(store)
    [claimed] = await claim(store, lease_for=seconds(30))
    await store.cancel([job])
    await clock.advance(seconds(31))
    before = await record_of(store, job)

    settled = await settle(store, [outcome(claimed)])

    assert (settled.accepted, settled.lost) == ({}, [claimed.lease])
    assert await record_of(store, job) == before


async def test_a_worker_that_lost_its_lease_settles_nothing(store: Store, clock: Clock) -> None:
    """S0.14, S0.77: one owner at a time; the one before cannot touch what the next one runs."""
    job = await enqueue_one(store)
    [old] = await claim(store, worker="a", lease_for=seconds(30))
    await clock.advance(seconds(31))
    await store.reap(10)
    [new] = await claim(store, worker="b", lease_for=seconds(30))
    before = await record_of(store, job)

    for outcome in OUTCOMES:
        assert (await settle(store, [outcome(old)], worker="a")).lost == [old.lease]

    assert await record_of(store, job) == before
    assert (await settle(store, [succeeded(new)], worker="b")).accepted == {new.lease: State.SUCCEEDED}


async def test_a_worker_does_not_believe_its_own_past(store: Store, clock: Clock) -> None:
    """S0.14: the fence decides, so the same worker with an older lease is as foreign as any other."""
    job = await enqueue_one(store)
    [old] = await claim(store, worker="a", lease_for=seconds(30))
    await clock.advance(seconds(31))
    await store.reap(10)
    [new] = await claim(store, worker="a", lease_for=seconds(30))

    assert (await settle(store, [unrecoverable(old)], worker="a")).lost == [old.lease]
    assert await state_of(store, job) is State.RUNNING
    assert (await settle(store, [succeeded(new)], worker="a")).accepted == {new.lease: State.SUCCEEDED}


@pytest.mark.parametrize("off", [-1, 1])
async def test_a_wrong_fence_settles_nothing(store: Store, off: int) -> None:
    """S0.14: not the number before, not the number to come."""
    job = await enqueue_one(store)
    [claimed] = await claim(store)
    forged = Lease(job, claimed.lease.fence + off)

    assert (await settle(store, [succeeded(forged)])).lost == [forged]
    assert await state_of(store, job) is State.RUNNING


async def test_a_foreign_worker_settles_nothing(store: Store) -> None:
    """S0.14: knowing the fence is not enough; only the owner moves the job on."""
    job = await enqueue_one(store)
    [claimed] = await claim(store, worker="a")
    before = await record_of(store, job)

    assert (await settle(store, [succeeded(claimed)], worker="b")).lost == [claimed.lease]
    assert await record_of(store, job) == before


async def test_a_lease_on_one_job_settles_no_other(store: Store) -> None:
    """A fence belongs to its jobs: shown for a job that another worker runs, it is worth nothing."""
    mine, theirs = await enqueue_one(store), await enqueue_one(store)
    [own] = await claim(store, worker="a", limit=1)
    await claim(store, worker="b", limit=1)
    forged = Lease(theirs, own.lease.fence)

    settled = await settle(store, [succeeded(forged), succeeded(own)], worker="a")

    assert (settled.accepted, settled.lost) == ({own.lease: State.SUCCEEDED}, [forged])
    assert await state_of(store, mine) is State.SUCCEEDED
    assert await state_of(store, theirs) is State.RUNNING


@pytest.mark.parametrize("state", sorted(set(State) - OWNED))
async def test_only_owned_jobs_can_be_settled(store: Store, state: State) -> None:
    """S0.24: no report moves a job that nobody owns, even under the last fence it had."""
    job = await job_in(store, state)
    lease = Lease(job, (await found(store, job)).fence)
    before = await record_of(store, job)

    for outcome in OUTCOMES:
        assert (await settle(store, [outcome(lease)])).lost == [lease]

    assert await record_of(store, job) == before


async def test_a_job_is_settled_once(store: Store) -> None:
    """S2.7, S4.7: a success is final, whatever its former owner reports next."""
    job = await enqueue_one(store)
    [claimed] = await claim(store)
    await settle(store, [succeeded(claimed, '"first"')])
    before = await record_of(store, job)

    for again in (succeeded(claimed, '"second"'), unrecoverable(claimed), recoverable(claimed)):
        assert (await settle(store, [again])).lost == [claimed.lease]

    assert await record_of(store, job) == before


async def test_the_first_of_two_reports_counts(store: Store) -> None:
    """Two reports under one lease in the same call: the second comes too late and changes nothing."""
    job = await enqueue_one(store)
    [claimed] = await claim(store)

    settled = await settle(store, [succeeded(claimed, '"first"'), unrecoverable(claimed)])

    assert (settled.accepted, settled.lost) == ({claimed.lease: State.SUCCEEDED}, [])
    assert (await found(store, job)).result == '"first"'
    assert await path_of(store, job) == ["queued", "started", "succeeded"]


async def test_an_old_and_a_new_lease_on_one_job_may_be_reported_together(store: Store, clock: Clock) -> None:
    """S0.77: a worker that got its own orphan again, and finished both times, is believed once."""
    job = await enqueue_one(store)
    [old] = await claim(store, lease_for=seconds(30))
    await clock.advance(seconds(30))
    await store.reap(10)
    [new] = await claim(store, lease_for=seconds(30))

    settled = await settle(store, [succeeded(old, '"old"'), succeeded(new, '"new"')])

    assert (settled.accepted, settled.lost) == ({new.lease: State.SUCCEEDED}, [old.lease])
    assert (await found(store, job)).result == '"new"'


async def test_an_unknown_job_is_lost(store: Store) -> None:
    job = await enqueue_one(store)
    [claimed] = await claim(store)
    unknown = Lease(type(job)(int=job.int ^ 1), claimed.lease.fence)
    assert (await settle(store, [succeeded(unknown)])).lost == [unknown]


async def test_a_result_cannot_be_forged(store: Store, backend: Backend) -> None:
    """What a finished job answered is out of reach, for plain SQL too."""
    job = await enqueue_one(store)
    [claimed] = await claim(store)
    await settle(store, [succeeded(claimed, '"true"')])

    for forgery in ("UPDATE tenure.result SET body = '\"forged\"'", "DELETE FROM tenure.result"):
        with pytest.raises(Refused):
            await backend.sql(forgery)
    assert (await found(store, job)).result == '"true"'
