"""Reaping: what becomes of jobs whose worker was lost."""

from datetime import timedelta

import pytest

from tenure.core.model.job import LapsedAttempt, NewJob, StepTaken
from tenure.core.model.lease import Line, Order, Pulse
from tenure.core.model.outcome import Ending
from tenure.core.model.policy import OnLost, Policy
from tenure.core.model.states import OWNED, State
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
    recoverable,
    seconds,
    settle,
    state_of,
    steps,
    succeeded,
)

MOMENT = timedelta(microseconds=1)


async def test_the_job_of_a_lost_worker_goes_to_the_next(store: Store, clock: Clock) -> None:
    """S0.25, S0.74, S3.21: the lease runs out and the job is queued again, with nobody's help."""
    job = await enqueue_one(store)
    [first] = await claim(store, worker="a", lease_for=seconds(30))
    await clock.advance(seconds(30))

    assert steps(await store.reap(10)) == [StepTaken(job, State.RUNNING, State.QUEUED)]

    [second] = await claim(store, worker="b")
    assert (second.lease.job, second.attempt) == (job, 2)
    assert second.lease.fence > first.lease.fence
    assert (await settle(store, [succeeded(second)], worker="b")).accepted == {second.lease: State.SUCCEEDED}


async def test_a_reaped_job_has_no_owner(store: Store, clock: Clock) -> None:
    """S0.62: unowned and eligible, in the state and in the lease."""
    job = await enqueue_one(store)
    [claimed] = await claim(store, lease_for=seconds(30))
    now = await clock.advance(seconds(31))
    await store.reap(10)

    orphan = await found(store, job)
    assert (orphan.state, orphan.queued_at) == (State.QUEUED, now)
    assert (orphan.worker, orphan.lease_expires_at, orphan.heartbeat_at) == (None, None, None)
    assert (orphan.attempt, orphan.fence) == (1, claimed.lease.fence)


async def test_an_orphan_is_on_record(store: Store, clock: Clock) -> None:
    """S1.34: running, orphaned, queued; the reaper is the actor, and the attempt ended as lost."""
    job = await enqueue_one(store)
    begun = clock.now
    [claimed] = await claim(store, worker="a", lease_for=seconds(30))
    now = await clock.advance(seconds(45))
    await store.reap(10)

    *_, event = await store.events(job)
    assert (event.type, event.source, event.target) == ("orphaned", State.RUNNING, State.QUEUED)
    assert (event.actor, event.attempt, event.fence, event.at) == ("reaper", 1, claimed.lease.fence, now)
    assert event.reason == "lease ran out"
    [attempt] = await store.attempts(job)
    assert (attempt.number, attempt.fence, attempt.worker) == (1, claimed.lease.fence, "a")
    assert (attempt.started_at, attempt.ending) == (begun, Ending.LOST)
    assert attempt.ended_at is not None


async def test_a_worker_that_crashed_with_its_connection_loses_no_job(
    store: Store, backend: Backend, clock: Clock
) -> None:
    """S0.5, S0.73: what it had claimed and not settled is found in the store and run again."""
    await store.enqueue([NewJob(definition="mail") for _ in range(5)])
    crashing = backend.store()
    await crashing.open()
    lost = await claim(crashing, worker="a", lease_for=seconds(30))
    done = lost.pop(2)
    await settle(crashing, [succeeded(done)])
    await crashing.close()
    await clock.advance(seconds(30))

    await store.reap(10)

    again = await claim(store, worker="b")
    assert {claimed.lease.job for claimed in again} == {claimed.lease.job for claimed in lost}
    assert await state_of(store, done.lease.job) is State.SUCCEEDED


@pytest.mark.parametrize("lease_for", [30, 600])
async def test_a_lease_that_holds_is_left_alone(store: Store, clock: Clock, lease_for: int) -> None:
    """S2.34, S2.35, S3.48: one older than agreed may be taken; one younger, by a moment even, may not."""
    job = await enqueue_one(store)
    await claim(store, worker="a", lease_for=seconds(lease_for))
    await clock.advance(seconds(lease_for) - MOMENT)
    before = await record_of(store, job)

    assert await store.reap(10) == []
    assert await claim(store, worker="b") == []
    assert await record_of(store, job) == before

    await clock.advance(MOMENT)
    assert [moved.job for moved in await store.reap(10)] == [job]
    assert [claimed.lease.job for claimed in await claim(store, worker="b")] == [job]


async def test_a_job_that_kills_its_worker_every_time_dies_after_its_last_attempt(
    store: Store, clock: Clock
) -> None:
    """S3.23, S3.29, S3.49: attempts are counted at the claim, so no crash is free."""
    job = await enqueue_one(store, policy=Policy(max_attempts=3))

    moves = []
    while await claim(store, lease_for=seconds(30)):
        await clock.advance(seconds(30))
        moves += [moved.target for moved in await store.reap(10)]

    assert moves == [State.QUEUED, State.QUEUED, State.FAILED]
    dead = await found(store, job)
    assert (dead.state, dead.attempt, dead.finished_at) == (State.FAILED, 3, clock.now)
    assert await path_of(store, job) == ["queued", *["started", "orphaned"] * 2, "started", "failed"]
    assert (await store.events(job))[-1].actor == "reaper"
    assert [attempt.ending for attempt in await store.attempts(job)] == [Ending.LOST] * 3


async def test_crashes_and_failures_count_alike(store: Store, clock: Clock) -> None:
    """S4.17, S4.35, S3.22: a job may run more than once, for whatever reason, but not more than its limit."""
    job = await enqueue_one(store, policy=Policy(max_attempts=2))
    [crashed] = await claim(store, lease_for=seconds(30))
    await clock.advance(seconds(30))
    await store.reap(10)
    [failed] = await claim(store)
    assert (crashed.attempt, failed.attempt) == (1, 2)

    assert (await settle(store, [recoverable(failed)])).accepted == {failed.lease: State.FAILED}
    assert await state_of(store, job) is State.FAILED


async def test_a_job_that_must_not_run_twice_is_buried(store: Store, clock: Clock) -> None:
    """S4.8, S4.18, S4.38: its worker was lost, nobody knows how far it came, so a person has to look."""
    job = await enqueue_one(store, policy=Policy(on_lost=OnLost.BURY))
    await claim(store, lease_for=seconds(30))
    now = await clock.advance(seconds(30))

    assert steps(await store.reap(10)) == [StepTaken(job, State.RUNNING, State.BURIED)]

    buried = await found(store, job)
    assert (buried.state, buried.finished_at, buried.worker) == (State.BURIED, now, None)
    *_, event = await store.events(job)
    assert (event.type, event.actor) == ("buried", "reaper")
    assert await claim(store) == []
    assert await store.cancel([job]) != []
    assert await state_of(store, job) is State.BURIED


@pytest.mark.parametrize("on_lost", OnLost)
async def test_a_job_asked_to_stop_whose_worker_was_lost_is_cancelled(
    store: Store, clock: Clock, on_lost: OnLost
) -> None:
    """It is not run again only to be stopped again."""
    job = await enqueue_one(store, policy=Policy(on_lost=on_lost))
    await claim(store, lease_for=seconds(30))
    await store.cancel([job])
    now = await clock.advance(seconds(30))

    assert steps(await store.reap(10)) == [StepTaken(job, State.CANCELLING, State.CANCELLED)]

    ended = await found(store, job)
    assert (ended.state, ended.finished_at, ended.worker) == (State.CANCELLED, now, None)
    *_, event = await store.events(job)
    assert (event.type, event.actor) == ("cancelled", "reaper")
    assert await claim(store) == []


async def test_what_was_settled_under_the_lease_stays_settled(store: Store, clock: Clock) -> None:
    """Of one claim, only what was not yet reported is run again."""
    await store.enqueue([NewJob(definition="mail") for _ in range(4)])
    done, backing_off, given_back, lost = await claim(store, lease_for=seconds(30))
    await settle(store, [succeeded(done), recoverable(backing_off, after=seconds(60))])
    await store.hand_back("a", unstarted=[given_back.lease], killed=[])
    untouched = [claimed.lease.job for claimed in (done, backing_off, given_back)]
    before = [await record_of(store, job) for job in untouched]
    await clock.advance(seconds(30))

    assert [moved.job for moved in await store.reap(10)] == [lost.lease.job]
    assert [await record_of(store, job) for job in untouched] == before


async def test_a_job_claimed_anew_is_left_alone(store: Store, clock: Clock) -> None:
    """The reaper is fenced like everybody else: an old lease that ran out says nothing of a newer one."""
    job = await enqueue_one(store)
    [first] = await claim(store, worker="a", lease_for=seconds(30))
    await store.hand_back("a", unstarted=[first.lease], killed=[])
    await clock.advance(seconds(20))
    await claim(store, worker="b", lease_for=seconds(30))
    await clock.advance(seconds(20))
    before = await record_of(store, job)

    assert await store.reap(10) == []
    assert await record_of(store, job) == before


@pytest.mark.parametrize("state", sorted(set(State) - OWNED))
async def test_only_owned_jobs_are_reaped(store: Store, clock: Clock, state: State) -> None:
    """S0.24: a lease that ran out moves no job that has left it."""
    job = await job_in(store, state)
    await clock.advance(seconds(3600))
    before = await record_of(store, job)
    assert await store.reap(10) == []
    assert await record_of(store, job) == before


async def test_reaping_is_bounded_by_leases_and_ends(store: Store, clock: Clock) -> None:
    """S3.50: every stuck job is recovered in the end, so many leases at a time."""
    await store.enqueue([NewJob(definition="mail") for _ in range(7)])
    for limit in (3, 2, 2):
        await claim(store, limit=limit, lease_for=seconds(30))
    await clock.advance(seconds(30))

    assert await store.reap(0) == []
    first, second, third = [await store.reap(1) for _ in range(3)]
    assert sorted(map(len, (first, second, third))) == [2, 2, 3]
    assert await store.reap(1) == []
    assert len(await claim(store)) == 7


async def test_leases_that_ran_out_are_swept_away(store: Store, backend: Backend, clock: Clock) -> None:
    """Both those whose jobs were taken and those that had none left; the others stay."""
    await store.enqueue([NewJob(definition="mail") for _ in range(3)])
    [done] = await claim(store, limit=1, lease_for=seconds(30))
    await claim(store, limit=1, lease_for=seconds(30))
    await claim(store, limit=1, lease_for=seconds(60))
    await settle(store, [succeeded(done)])
    await clock.advance(seconds(30))

    assert len(await store.reap(10)) == 1
    assert await count(backend, "tenure.lease") == 1


async def test_a_lease_prolonged_in_time_is_not_reaped(store: Store, clock: Clock) -> None:
    """S3.48: what counts is the last sign of life, not the start of the job."""
    job = await enqueue_one(store)
    [claimed] = await claim(store, lease_for=seconds(30))
    await clock.advance(seconds(29))
    await store.heartbeat(Pulse(worker="a", leases=[claimed.lease], lease_for=seconds(30)))
    await clock.advance(seconds(29))
    assert await store.reap(10) == []
    await clock.advance(seconds(1))
    assert [moved.job for moved in await store.reap(10)] == [job]


async def test_claimable_are_the_queued_the_due_and_the_orphaned(store: Store, clock: Clock) -> None:
    """S2.36, S2.39: queued, failed with its backoff over, or running beyond the lease; and nothing else."""
    jobs = {state: await job_in(store, state) for state in sorted(State)}
    await clock.advance(seconds(3600))
    await store.promote(100)
    await store.reap(100)

    claimed = await claim(store, limit=100, lines=[Line("default", state.value) for state in State])

    waiting = {State.QUEUED, State.SCHEDULED, State.RETRYING, State.SUSPENDED, State.RUNNING}
    assert {owned.lease.job for owned in claimed} == {jobs[state] for state in waiting}


async def test_a_lost_worker_counts_as_a_failure(store: Store, clock: Clock) -> None:
    """S0.30, S4.35: a loss is a failure like any other."""
    job = await enqueue_one(store, policy=Policy(max_attempts=2))
    for failures in (1, 2):
        await claim(store)
        await clock.advance(seconds(31))
        await store.reap(10)
        assert (await found(store, job)).failures == failures
    assert (await found(store, job)).state is State.FAILED


async def test_what_is_reaped_is_told_with_the_attempt_that_ended_so(store: Store, clock: Clock) -> None:
    """S2.43, S2.53: nobody else is there to tell of it."""
    traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    job = await enqueue_one(store, definition="mail", version=2, queue="post", traceparent=traceparent)
    order = Order(worker="ann", lines=(Line("post", "mail", 2),), limit=1, lease_for=seconds(30))
    await store.settle_and_claim([], order)
    await clock.advance(seconds(31))
    assert await store.reap(10) == [
        StepTaken(
            job,
            State.RUNNING,
            State.QUEUED,
            LapsedAttempt("mail", 2, "post", "ann", 1, 3, seconds(31), traceparent),
        )
    ]
