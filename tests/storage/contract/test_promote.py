"""Promotion: what waits for the clock moves on when its time has come, and never before."""

from datetime import timedelta

import pytest

from tenure.core.errors import InvalidInput
from tenure.core.model.job import StepTaken
from tenure.core.model.policy import Policy
from tenure.core.model.states import State
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
    suspended,
)

MOMENT = timedelta(microseconds=1)


async def test_a_delayed_job_is_queued_when_its_time_has_come(store: Store, clock: Clock) -> None:
    """S4.11, S4.13: looked at and made ready in one step."""
    job = await enqueue_one(store, delay=seconds(10))
    now = await clock.advance(seconds(10))

    assert await store.promote(10) == [StepTaken(job, State.SCHEDULED, State.QUEUED)]

    queued = await found(store, job)
    assert (queued.state, queued.queued_at, queued.due_at) == (State.QUEUED, now, None)
    assert [claimed.lease.job for claimed in await claim(store)] == [job]


async def test_a_job_whose_time_has_not_come_stays_as_it_is(store: Store, clock: Clock) -> None:
    """S4.12: looked at and left alone, without a trace."""
    job = await enqueue_one(store, delay=seconds(10))
    await clock.advance(seconds(10) - MOMENT)
    before = await record_of(store, job)

    assert await store.promote(10) == []
    assert await record_of(store, job) == before


async def test_a_job_with_a_date_waits_for_it(store: Store, clock: Clock) -> None:
    """S3.33, S1.83: run_at is a moment of the store's own time."""
    job = await enqueue_one(store, run_at=clock.now + seconds(3600))
    await clock.advance(seconds(3599))
    assert await store.promote(10) == []
    await clock.advance(seconds(1))
    assert [moved.job for moved in await store.promote(10)] == [job]


async def test_a_backoff_that_is_over_queues_the_job_again(store: Store, clock: Clock) -> None:
    """S0.22: retrying, then queued; the attempts so far stay counted."""
    job = await enqueue_one(store)
    [claimed] = await claim(store)
    await settle(store, [recoverable(claimed, after=seconds(5))])
    now = await clock.advance(seconds(5))

    assert await store.promote(10) == [StepTaken(job, State.RETRYING, State.QUEUED)]

    queued = await found(store, job)
    assert (queued.state, queued.queued_at, queued.due_at) == (State.QUEUED, now, None)
    assert (queued.attempt, queued.failures, queued.fence) == (1, 1, claimed.lease.fence)


async def test_a_suspended_job_resumes_when_its_time_has_come(store: Store, clock: Clock) -> None:
    """Resuming is not a new attempt: it has the same number under a new fence."""
    job = await enqueue_one(store)
    [first] = await claim(store)
    await settle(store, [suspended(first, after=seconds(60))])
    await clock.advance(seconds(60) - MOMENT)
    assert await store.promote(10) == []
    await clock.advance(MOMENT)

    assert await store.promote(10) == [StepTaken(job, State.SUSPENDED, State.QUEUED)]

    assert await path_of(store, job) == ["queued", "started", "suspended", "resumed"]
    [second] = await claim(store)
    assert (second.attempt, first.attempt) == (1, 1)
    assert second.lease.fence > first.lease.fence


@pytest.mark.parametrize(
    ("state", "event"),
    [(State.SCHEDULED, "queued"), (State.RETRYING, "queued"), (State.SUSPENDED, "resumed")],
)
async def test_a_step_of_the_clock_is_on_record(store: Store, clock: Clock, state: State, event: str) -> None:
    """The clock is the actor; nobody asked."""
    job = await job_in(store, state)
    steps = (await found(store, job)).events
    fence = (await found(store, job)).fence
    now = await clock.advance(seconds(60))
    await store.promote(10)

    last = (await store.events(job))[-1]
    assert (last.type, last.source, last.target) == (event, state, State.QUEUED)
    assert (last.n, last.actor, last.fence, last.at) == (steps + 1, "clock", fence, now)


async def test_earliest_due_first(store: Store, clock: Clock) -> None:
    """Whatever it waits for, and in whatever order it was recorded."""
    late = await enqueue_one(store, delay=seconds(30))
    early = await enqueue_one(store, delay=seconds(10))
    backing_off = await enqueue_one(store)
    [claimed] = await claim(store)
    await settle(store, [recoverable(claimed, after=seconds(20))])
    await clock.advance(seconds(60))

    promoted = [[moved.job for moved in await store.promote(1)] for _ in range(4)]

    assert promoted == [[early], [backing_off], [late], []]
    assert [again.lease.job for again in await claim(store)] == [early, backing_off, late]


async def test_jobs_promoted_together_stand_in_line_by_their_time(store: Store, clock: Clock) -> None:
    """S1.41: the one that was due first is claimed first."""
    jobs = {delay: await enqueue_one(store, delay=seconds(delay)) for delay in (30, 10, 20, 40)}
    await clock.advance(seconds(40))
    await store.promote(10)
    assert [claimed.lease.job for claimed in await claim(store)] == [jobs[10], jobs[20], jobs[30], jobs[40]]


async def test_a_promotion_takes_no_more_than_its_limit(store: Store, clock: Clock) -> None:
    for _ in range(5):
        await enqueue_one(store, delay=seconds(10))
    await clock.advance(seconds(10))
    assert [len(await store.promote(2)) for _ in range(4)] == [2, 2, 1, 0]
    assert await store.promote(0) == []


async def test_a_job_is_promoted_once(store: Store, backend: Backend, clock: Clock) -> None:
    """Being looked at is the moment of promotion: it leaves one step behind and no state of its own."""
    job = await enqueue_one(store, delay=seconds(10))
    await clock.advance(seconds(10))
    await store.promote(10)
    assert await store.promote(10) == []
    assert await path_of(store, job) == ["scheduled", "queued"]
    assert await count(backend, "tenure.ready") == 1
    assert await count(backend, "tenure.timer") == 0


@pytest.mark.parametrize("state", sorted(set(State) - {State.SCHEDULED, State.RETRYING, State.SUSPENDED}))
async def test_only_what_waits_for_the_clock_is_promoted(store: Store, clock: Clock, state: State) -> None:
    """S0.24: no time that passes moves a job that does not wait for it."""
    job = await job_in(store, state)
    await clock.advance(timedelta(days=3653))
    before = await record_of(store, job)
    assert await store.promote(10) == []
    assert await record_of(store, job) == before


@pytest.mark.parametrize("state", [State.SCHEDULED, State.RETRYING, State.SUSPENDED])
async def test_a_job_cancelled_while_it_waited_is_not_promoted(
    store: Store, clock: Clock, state: State
) -> None:
    job = await job_in(store, state)
    await store.cancel([job])
    await clock.advance(seconds(60))
    assert await store.promote(10) == []
    assert await state_of(store, job) is State.CANCELLED


async def test_a_job_given_up_fails_at_the_next_promotion(store: Store, clock: Clock) -> None:
    """S0.23: retrying, then dead, without waiting for the backoff."""
    job = await enqueue_one(store, policy=Policy(max_attempts=10))
    [claimed] = await claim(store)
    await settle(store, [recoverable(claimed, after=seconds(3600))])
    await store.give_up([job])
    now = await clock.advance(seconds(1))

    assert await store.promote(10) == [StepTaken(job, State.RETRYING, State.FAILED)]

    dead = await found(store, job)
    assert (dead.state, dead.finished_at, dead.due_at) == (State.FAILED, now, None)
    assert dead.attempt == 1
    last = (await store.events(job))[-1]
    assert (last.type, last.source, last.target) == ("failed", State.RETRYING, State.FAILED)
    assert (last.actor, last.reason) == ("clock", "given up")
    await clock.advance(seconds(3600))
    assert await store.promote(10) == []


async def test_giving_one_job_up_leaves_the_others_to_their_backoff(store: Store, clock: Clock) -> None:
    given_up, kept = await enqueue_one(store), await enqueue_one(store)
    await settle(store, [recoverable(claimed, after=seconds(5)) for claimed in await claim(store)])
    await store.give_up([given_up])
    assert [moved.job for moved in await store.promote(10)] == [given_up]
    await clock.advance(seconds(5))
    assert await store.promote(10) == [StepTaken(kept, State.RETRYING, State.QUEUED)]


@pytest.mark.parametrize("limit", [-1, 10_001])
async def test_a_limit_that_makes_no_sense_is_refused(store: Store, limit: int) -> None:
    with pytest.raises(InvalidInput, match="limit"):
        await store.promote(limit)
    with pytest.raises(InvalidInput, match="limit"):
        await store.reap(limit)
