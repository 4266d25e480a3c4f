"""Claiming: which jobs become whose, and what is on record of it."""

from datetime import timedelta

import pytest

from tenure.core.errors import StoreError
from tenure.core.model.lease import Line
from tenure.core.model.outcome import Attempt
from tenure.core.model.policy import OnLost, Policy, RetryPolicy
from tenure.core.model.states import State
from tenure.core.values.documents import Document
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend
from tests.storage.clock import Clock
from tests.storage.verbs import (
    claim,
    count,
    enqueue_one,
    found,
    recoverable,
    seconds,
    settle,
    spoil_next_event,
    state_of,
    step_over_spoilt_event,
    succeeded,
    suspended,
    unrecoverable,
)


async def test_a_claimed_job_belongs_to_its_worker_until_the_lease_ends(store: Store, clock: Clock) -> None:
    """S0.19, S0.31, S1.56: a claim makes an owner, a start and an end of the lease."""
    job = await enqueue_one(store)
    now = await clock.advance(seconds(2))

    [claimed] = await claim(store, worker="a", lease_for=seconds(30))

    running = await found(store, job)
    assert running.state is State.RUNNING
    assert (running.worker, running.started_at, running.lease_expires_at) == ("a", now, now + seconds(30))
    assert (claimed.lease.job, claimed.lease.fence) == (job, running.fence)


async def test_a_worker_is_handed_what_was_asked_for(store: Store, clock: Clock) -> None:
    """A handler needs no second look into the store: params, policy and trace come with the claim."""
    policy = Policy(
        max_attempts=7,
        timeout=seconds(90),
        grace=seconds(2.5),
        retry=RetryPolicy(base=timedelta(milliseconds=250), cap=seconds(60), fatal_on=("builtins.KeyError",)),
    )
    params = Document('{"to":"Zoë ☃","n":1.50,"nothing":null}')
    queued_at = clock.now
    where = {"version": 3, "queue": "slow", "namespace": "shop"}
    await enqueue_one(store, "post", params=params, policy=policy, traceparent="00-aa-01", **where)
    started_at = await clock.advance(seconds(1))

    slow = Line("slow", "post", 3)
    [claimed] = await claim(store, lines=[slow])

    assert (claimed.namespace, Line(claimed.queue, claimed.definition, claimed.version)) == ("shop", slow)
    assert (claimed.params, claimed.policy, claimed.traceparent) == (params, policy, "00-aa-01")
    assert (claimed.attempt, claimed.queued_at, claimed.started_at) == (1, queued_at, started_at)


async def test_a_job_that_must_not_run_twice_says_so_to_its_worker(store: Store) -> None:
    await enqueue_one(store, policy=Policy(on_lost=OnLost.BURY))
    [claimed] = await claim(store)
    assert (claimed.policy.on_lost, claimed.policy.max_attempts) == (OnLost.BURY, 1)


async def test_a_claim_is_on_record(store: Store, clock: Clock) -> None:
    """S1.56, S2.10, S4.14: from queued to running, with an event and an attempt that has begun."""
    job = await enqueue_one(store)
    now = await clock.advance(seconds(1))

    [claimed] = await claim(store, worker="a")

    *_, started = await store.events(job)
    assert (started.type, started.source, started.target) == ("started", State.QUEUED, State.RUNNING)
    assert (started.attempt, started.fence, started.at) == (1, claimed.lease.fence, now)
    assert (started.n, started.actor) == (2, "a")
    assert await store.attempts(job) == [
        Attempt(job=job, fence=claimed.lease.fence, number=1, worker="a", started_at=now)
    ]


async def test_attempts_are_counted_when_they_begin(store: Store, clock: Clock) -> None:
    """S3.35, S4.25, S4.32: running, since now, and one attempt more, in the same step."""
    job = await enqueue_one(store)
    assert (await found(store, job)).attempt == 0

    for attempt in (1, 2):
        now = await clock.advance(seconds(5))
        await store.promote(10)
        [claimed] = await claim(store)
        there = await found(store, job)
        assert (there.state, there.started_at, there.attempt) == (State.RUNNING, now, attempt)
        assert claimed.attempt == attempt
        await settle(store, [recoverable(claimed, after=seconds(5))])


async def test_a_running_job_is_not_claimed_again(store: Store) -> None:
    """S0.65, S2.37, S2.40: the select and the lease are one step; who comes second has nothing to process."""
    job = await enqueue_one(store)
    [first] = await claim(store, worker="a")

    assert await claim(store, worker="b") == []

    running = await found(store, job)
    assert (running.worker, running.fence, running.attempt) == ("a", first.lease.fence, 1)


async def test_the_fence_only_ever_grows(store: Store, clock: Clock) -> None:
    """Each claim has a fence above all before it, of this job and of any other."""
    await enqueue_one(store)
    fences = []
    for _ in range(4):
        [claimed] = await claim(store, lease_for=seconds(30))
        fences.append(claimed.lease.fence)
        await store.hand_back("a", unstarted=[claimed.lease], killed=[])
    await enqueue_one(store, "other")
    [other] = await claim(store, lines=[Line("default", "other")])
    fences.append(other.lease.fence)
    assert fences == sorted(set(fences))
    assert fences[0] > 0


async def test_an_order_for_nothing_claims_nothing(store: Store, backend: Backend) -> None:
    job = await enqueue_one(store)
    assert await claim(store, limit=0) == []
    assert await state_of(store, job) is State.QUEUED
    assert await count(backend, "tenure.lease") == 0


async def test_a_claim_that_takes_nothing_leaves_no_lease(store: Store, backend: Backend) -> None:
    cancelled = await enqueue_one(store)
    await store.cancel([cancelled])
    await enqueue_one(store, "foreign")
    assert await claim(store) == []
    assert await count(backend, "tenure.lease") == 0


async def test_only_queued_jobs_are_claimed(store: Store) -> None:
    """S0.16, S0.63, S2.41: held, delayed, backing off, suspended and finished jobs are nobody's to claim."""
    await enqueue_one(store, hold=True)
    await enqueue_one(store, delay=seconds(10))
    for outcome in (recoverable, suspended, succeeded, unrecoverable):
        await enqueue_one(store)
        [claimed] = await claim(store)
        await settle(store, [outcome(claimed)])
    buried = await enqueue_one(store, policy=Policy(on_lost=OnLost.BURY))
    [killed] = await claim(store)
    await store.hand_back("a", unstarted=[], killed=[killed.lease])
    assert await state_of(store, buried) is State.BURIED

    assert await claim(store) == []
    queued = await enqueue_one(store)
    assert [claimed.lease.job for claimed in await claim(store)] == [queued]


async def test_a_delayed_job_is_not_claimed_before_its_time(store: Store, clock: Clock) -> None:
    """S1.42, S1.55, S3.33: claimable once its time is now or past, and not a microsecond earlier."""
    job = await enqueue_one(store, delay=seconds(10), priority=100)
    await clock.advance(seconds(10) - timedelta(microseconds=1))
    await store.promote(10)
    assert await claim(store) == []

    await clock.advance(timedelta(microseconds=1))
    await store.promote(10)
    assert [claimed.lease.job for claimed in await claim(store)] == [job]


async def test_no_transaction_stays_open_while_a_job_runs(store: Store, other: Store) -> None:
    """S0.69, S2.6, S4.5: what was claimed is committed before it runs, so others see it and can act on it."""
    job = await enqueue_one(store)
    await claim(store, worker="a")

    seen = await found(other, job)
    assert (seen.state, seen.worker) == (State.RUNNING, "a")
    [standing] = await other.cancel([job])
    assert standing.state is State.CANCELLING


async def test_a_claim_that_cannot_be_recorded_claims_nothing(store: Store, backend: Backend) -> None:
    """S0.64, S3.34: state, lease, place in line and event change together or not at all."""
    jobs = [await enqueue_one(store, key=key) for key in ("first", "second", "third")]
    await spoil_next_event(backend, "second")

    with pytest.raises(StoreError):
        await claim(store)

    for job in jobs:
        untouched = await found(store, job)
        assert (untouched.state, untouched.attempt, untouched.fence) == (State.QUEUED, 0, 0)
        assert await store.attempts(job) == []
    assert await count(backend, "tenure.lease") == 0
    assert [aside.job for aside in (await store.asides()).jobs] == [jobs[1]]
    await step_over_spoilt_event(backend, "second")
    await store.put_back(jobs[1])
    assert [claimed.lease.job for claimed in await claim(store)] == jobs
