"""Handing back: a worker that stops gives its jobs to others, without waiting for its leases to run out."""

import pytest

from tenure.core.model.job import NewJob
from tenure.core.model.lease import Claimed, Lease
from tenure.core.model.outcome import Ending, Settled
from tenure.core.model.policy import OnLost, Policy
from tenure.core.model.states import OWNED, State
from tenure.core.values.bounds import MOST_HAND_BACKS
from tenure.core.values.failure import Failure
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend
from tests.storage.clock import Clock
from tests.storage.verbs import (
    claim,
    count,
    enqueue_one,
    found,
    job_in,
    path_of,
    record_of,
    seconds,
    settle,
    state_of,
    succeeded,
)

BOTH = pytest.mark.parametrize("way", ["unstarted", "killed"])


async def hand_back(store: Store, way: str, *given: Claimed | Lease, worker: str = "a") -> Settled:
    """Give jobs back, all unstarted or all killed."""
    leases = [claimed.lease if isinstance(claimed, Claimed) else claimed for claimed in given]
    unstarted, killed = (leases, []) if way == "unstarted" else ([], leases)
    return await store.hand_back(worker, unstarted=unstarted, killed=killed)


@BOTH
async def test_a_job_handed_back_is_anybodys_at_once(store: Store, way: str) -> None:
    """S0.5: it does not wait for the lease to run out, and the attempt is not counted."""
    job = await enqueue_one(store)
    [first] = await claim(store, worker="a")

    settled = await hand_back(store, way, first)

    assert (settled.accepted, settled.lost) == ({first.lease: State.QUEUED}, [])
    given = await found(store, job)
    assert (given.state, given.attempt, given.hand_backs, given.failures) == (State.QUEUED, 0, 1, 0)
    assert (given.worker, given.lease_expires_at, given.fence) == (None, None, first.lease.fence)
    [second] = await claim(store, worker="b")
    assert (second.lease.job, second.attempt) == (job, 1)
    assert second.lease.fence > first.lease.fence


@pytest.mark.parametrize(
    ("way", "ending", "reason"),
    [("unstarted", Ending.HANDED_BACK, "not started"), ("killed", Ending.KILLED, "killed before its end")],
)
async def test_a_hand_back_is_on_record(
    store: Store, clock: Clock, way: str, ending: Ending, reason: str
) -> None:
    """One event by the worker, and an attempt that says how it ended."""
    job = await enqueue_one(store)
    begun = clock.now
    [claimed] = await claim(store, worker="a")
    ended = await clock.advance(seconds(2))
    await hand_back(store, way, claimed)

    *_, event = await store.events(job)
    assert (event.type, event.source, event.target) == ("handed_back", State.RUNNING, State.QUEUED)
    assert (event.actor, event.attempt, event.fence) == ("a", 1, claimed.lease.fence)
    assert (event.at, event.reason) == (ended, reason)
    [attempt] = await store.attempts(job)
    assert (attempt.number, attempt.fence, attempt.worker) == (1, claimed.lease.fence, "a")
    assert (attempt.started_at, attempt.ended_at, attempt.ending) == (begun, ended, ending)


async def test_a_job_handed_back_keeps_its_priority(store: Store) -> None:
    urgent = await enqueue_one(store, priority=5)
    [claimed] = await claim(store)
    waiting = await enqueue_one(store, priority=1)
    await hand_back(store, "unstarted", claimed)
    assert [again.lease.job for again in await claim(store)] == [urgent, waiting]


async def test_a_job_killed_at_shutdown_that_must_not_run_twice_is_buried(store: Store, clock: Clock) -> None:
    """It may have had its effect, so a person has to look at it."""
    job = await enqueue_one(store, policy=Policy(on_lost=OnLost.BURY))
    [claimed] = await claim(store, worker="a")

    settled = await hand_back(store, "killed", claimed)

    assert settled.accepted == {claimed.lease: State.BURIED}
    buried = await found(store, job)
    assert (buried.state, buried.finished_at, buried.worker) == (State.BURIED, clock.now, None)
    assert buried.error == Failure("Killed", "killed before its end, and must not run twice")
    *_, event = await store.events(job)
    assert (event.type, event.actor) == ("buried", "a")
    assert await claim(store) == []


async def test_a_job_that_was_never_started_may_run_though_it_must_not_run_twice(store: Store) -> None:
    """It cannot have had any effect."""
    job = await enqueue_one(store, policy=Policy(on_lost=OnLost.BURY))
    [claimed] = await claim(store)

    assert (await hand_back(store, "unstarted", claimed)).accepted == {claimed.lease: State.QUEUED}

    [again] = await claim(store)
    assert (again.lease.job, again.attempt) == (job, 1)


@BOTH
async def test_a_job_handed_back_while_it_was_asked_to_stop_is_cancelled(store: Store, way: str) -> None:
    job = await enqueue_one(store)
    [claimed] = await claim(store, worker="a")
    await store.cancel([job])

    assert (await hand_back(store, way, claimed)).accepted == {claimed.lease: State.CANCELLED}

    assert await path_of(store, job) == ["queued", "started", "cancelling", "cancelled"]
    assert (await store.events(job))[-1].actor == "a"
    assert await claim(store) == []


async def test_a_job_asked_to_stop_that_must_not_run_twice_is_cancelled(store: Store) -> None:
    """The wish to stop it stands above the doubt whether it ran."""
    job = await enqueue_one(store, policy=Policy(on_lost=OnLost.BURY))
    [claimed] = await claim(store)
    await store.cancel([job])
    assert (await hand_back(store, "killed", claimed)).accepted == {claimed.lease: State.CANCELLED}


@BOTH
async def test_hand_backs_are_free_only_so_often(store: Store, way: str) -> None:
    """S3.23: after twenty each one costs an attempt, so that a job cannot be passed round for ever."""
    job = await enqueue_one(store, policy=Policy(max_attempts=3))
    attempts, states = list[int](), list[State]()
    for _ in range(MOST_HAND_BACKS + 4):
        batch = await claim(store)
        attempts += [claimed.attempt for claimed in batch]
        states += (await hand_back(store, way, *batch)).accepted.values()

    assert attempts == [1] * MOST_HAND_BACKS + [1, 2, 3]
    assert states == [State.QUEUED] * (MOST_HAND_BACKS + 2) + [State.FAILED]
    dead = await found(store, job)
    assert (dead.state, dead.attempt, dead.finished_at) == (State.FAILED, 3, dead.updated_at)
    assert dead.error == Failure("HandedBack", "workers gave it back too often")
    assert len(await store.attempts(job)) == MOST_HAND_BACKS + 3


async def test_what_was_lost_is_not_given_back(store: Store, clock: Clock) -> None:
    """S0.14, S0.61: only the owner, and only while its lease holds."""
    job = await enqueue_one(store)
    [claimed] = await claim(store, worker="a", lease_for=seconds(30))
    forged = Lease(job, claimed.lease.fence + 1)
    before = await record_of(store, job)

    assert (await hand_back(store, "unstarted", claimed, worker="b")).lost == [claimed.lease]
    assert (await hand_back(store, "unstarted", forged)).lost == [forged]
    assert await record_of(store, job) == before

    await clock.advance(seconds(30))
    late = await record_of(store, job)
    assert (await hand_back(store, "unstarted", claimed)).lost == [claimed.lease]
    assert (await hand_back(store, "killed", claimed)).lost == [claimed.lease]
    assert await record_of(store, job) == late


@pytest.mark.parametrize("state", sorted(set(State) - OWNED))
async def test_only_owned_jobs_are_handed_back(store: Store, state: State) -> None:
    """S0.24: what nobody owns cannot be given back, even under the last fence it had."""
    job = await job_in(store, state)
    lease = Lease(job, (await found(store, job)).fence)
    before = await record_of(store, job)

    assert (await store.hand_back("a", unstarted=[lease], killed=[])).lost == [lease]
    assert (await store.hand_back("a", unstarted=[], killed=[lease])).lost == [lease]
    assert await record_of(store, job) == before


async def test_a_job_is_handed_back_once(store: Store) -> None:
    """Once as unstarted and once as killed is still one lease."""
    job = await enqueue_one(store)
    [claimed] = await claim(store)

    settled = await store.hand_back("a", unstarted=[claimed.lease], killed=[claimed.lease])

    assert (settled.accepted, settled.lost) == ({claimed.lease: State.QUEUED}, [])
    assert await path_of(store, job) == ["queued", "started", "handed_back"]
    assert len(await claim(store)) == 1


async def test_what_another_worker_has_by_now_is_not_given_back_again(store: Store) -> None:
    """S0.14: the lease still covers one job of the claim, and no longer the one that was given back."""
    job, _ = await enqueue_one(store), await enqueue_one(store)
    first, _ = await claim(store, worker="a")
    await hand_back(store, "unstarted", first)
    await claim(store, worker="b")
    before = await record_of(store, job)

    assert (await hand_back(store, "unstarted", first)).lost == [first.lease]
    assert await record_of(store, job) == before


async def test_an_old_and_a_new_lease_on_one_job_may_be_given_back_together(
    store: Store, clock: Clock
) -> None:
    job = await enqueue_one(store)
    [old] = await claim(store, lease_for=seconds(30))
    await clock.advance(seconds(30))
    await store.reap(10)
    [new] = await claim(store, lease_for=seconds(30))

    settled = await hand_back(store, "unstarted", old, new)

    assert (settled.accepted, settled.lost) == ({new.lease: State.QUEUED}, [old.lease])
    assert (await found(store, job)).hand_backs == 1


async def test_what_is_not_named_is_kept(store: Store, backend: Backend) -> None:
    """A worker may give some jobs of a claim back and finish the others."""
    await store.enqueue([NewJob(definition="mail") for _ in range(3)])
    done, unstarted, killed = await claim(store)

    settled = await store.hand_back("a", unstarted=[unstarted.lease], killed=[killed.lease])

    assert settled.accepted == {unstarted.lease: State.QUEUED, killed.lease: State.QUEUED}
    assert await state_of(store, done.lease.job) is State.RUNNING
    assert (await settle(store, [succeeded(done)])).accepted == {done.lease: State.SUCCEEDED}
    assert await count(backend, "tenure.ready") == 2


async def test_giving_nothing_back_is_no_error(store: Store) -> None:
    settled = await store.hand_back("a", unstarted=[], killed=[])
    assert (settled.accepted, settled.lost) == ({}, [])


async def test_a_burial_at_shutdown_counts_as_a_failure_and_a_hand_back_does_not(store: Store) -> None:
    """S0.30: only what went wrong is counted."""
    buried = await enqueue_one(store, policy=Policy(on_lost=OnLost.BURY))
    [owned] = await claim(store)
    await store.hand_back("a", unstarted=[], killed=[owned.lease])
    returned = await enqueue_one(store)
    [owned] = await claim(store)
    await store.hand_back("a", unstarted=[owned.lease], killed=[])
    assert (await found(store, buried)).failures == 1
    assert (await found(store, returned)).failures == 0
