"""Settling: what becomes of a job when its owner reports."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from tenure.core.errors import StoreError
from tenure.core.model.job import NewJob
from tenure.core.model.lease import Claimed, Lease
from tenure.core.model.outcome import Attempt, Ending, Report
from tenure.core.model.policy import Policy
from tenure.core.model.states import State
from tenure.core.values.bounds import MOST_SUSPENSIONS
from tenure.core.values.failure import Failure
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend
from tests.storage.clock import Clock
from tests.storage.verbs import (
    BOOM,
    claim,
    count,
    enqueue_one,
    found,
    path_of,
    record_of,
    recoverable,
    seconds,
    settle,
    spoil_next_event,
    state_of,
    step_over_spoilt_event,
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


async def test_success_ends_a_job_and_frees_its_lease(store: Store, clock: Clock) -> None:
    """S0.20, S0.70, S1.59: succeeded and finished, with neither an owner nor an end of a lease."""
    job = await enqueue_one(store)
    [claimed] = await claim(store)
    now = await clock.advance(seconds(3))

    settled = await settle(store, [succeeded(claimed, '{"sent":1}')])

    assert (settled.accepted, settled.lost) == ({claimed.lease: State.SUCCEEDED}, [])
    done = await found(store, job)
    assert (done.state, done.finished_at, done.result, done.error) == (
        State.SUCCEEDED,
        now,
        '{"sent":1}',
        None,
    )
    assert (done.worker, done.lease_expires_at, done.heartbeat_at) == (None, None, None)


async def test_success_is_on_record(store: Store, clock: Clock) -> None:
    """S1.30, S2.11, S3.19: queued, running, succeeded; each step by whoever took it."""
    job = await enqueue_one(store)
    begun = await clock.advance(seconds(1))
    [claimed] = await claim(store, worker="a")
    ended = await clock.advance(seconds(3))
    await settle(store, [succeeded(claimed)])

    assert await path_of(store, job) == ["queued", "started", "succeeded"]
    *_, event = await store.events(job)
    assert (event.n, event.source, event.target) == (3, State.RUNNING, State.SUCCEEDED)
    assert (event.actor, event.attempt, event.fence, event.at) == ("a", 1, claimed.lease.fence, ended)
    assert await store.attempts(job) == [
        Attempt(
            job=job,
            fence=claimed.lease.fence,
            number=1,
            worker="a",
            started_at=begun,
            ended_at=ended,
            ending=Ending.SUCCEEDED,
        )
    ]


@pytest.mark.parametrize(
    "result", ["null", '"Zoë ☃ \\u0000"', '{"a":1,"b":1.50,"a ":[]}', '"' + "x" * 300_000 + '"']
)
async def test_a_result_comes_back_letter_by_letter(store: Store, result: str) -> None:
    """S4.16, S4.33: reserved, then success, with the answer as it was given."""
    job = await enqueue_one(store)
    [claimed] = await claim(store)
    await settle(store, [succeeded(claimed, result)])
    assert (await found(store, job)).result == result


async def test_a_recoverable_failure_backs_off(store: Store, clock: Clock) -> None:
    """S0.21, S0.71, S2.12: retrying until its time, one failure more, the lease given up."""
    job = await enqueue_one(store, policy=Policy(max_attempts=3))
    [claimed] = await claim(store)
    now = await clock.advance(seconds(1))

    settled = await settle(store, [recoverable(claimed, after=seconds(5))])

    assert settled.accepted == {claimed.lease: State.RETRYING}
    waiting = await found(store, job)
    assert (waiting.state, waiting.due_at, waiting.failures) == (State.RETRYING, now + seconds(5), 1)
    assert (waiting.worker, waiting.lease_expires_at, waiting.finished_at) == (None, None, None)
    assert waiting.error == BOOM


async def test_a_failed_attempt_keeps_its_error(store: Store, clock: Clock) -> None:
    """S2.8: retrying, with one row an attempt: who ran it, from when to when, how it ended and why."""
    error = Failure("pool.Timeout", "no answer from “db”\nafter 3 s", "Traceback …\n  boom")
    job = await enqueue_one(store)
    begun = clock.now
    [claimed] = await claim(store, worker="a")
    ended = await clock.advance(seconds(3))
    await settle(store, [recoverable(claimed, error=error)])

    [attempt] = await store.attempts(job)
    assert (attempt.number, attempt.fence, attempt.worker) == (1, claimed.lease.fence, "a")
    assert (attempt.started_at, attempt.ended_at) == (begun, ended)
    assert (attempt.ending, attempt.error) == (Ending.RECOVERABLE, error)
    *_, event = await store.events(job)
    assert (event.type, event.source, event.target) == ("retrying", State.RUNNING, State.RETRYING)
    assert (event.actor, event.attempt, event.fence) == ("a", 1, claimed.lease.fence)


async def test_a_job_that_backs_off_is_not_run_before_its_time(store: Store, clock: Clock) -> None:
    """S0.16, S0.22, S2.14: not executable until the backoff is over and it is queued again."""
    job = await enqueue_one(store)
    [first] = await claim(store)
    await settle(store, [recoverable(first, after=seconds(5))])

    await clock.advance(seconds(5) - MOMENT)
    await store.promote(10)
    assert await claim(store) == []

    await clock.advance(MOMENT)
    await store.promote(10)
    [second] = await claim(store)
    assert (second.lease.job, second.attempt) == (job, 2)
    assert second.lease.fence > first.lease.fence


async def test_a_job_that_always_fails_is_dead_after_its_last_attempt(store: Store, clock: Clock) -> None:
    """S0.23, S0.30, S3.29: retried while attempts are left, then dead; the count decides, nothing else."""
    job = await enqueue_one(store, policy=Policy(max_attempts=3))

    states: list[State] = []
    while batch := await claim(store):
        settled = await settle(store, [recoverable(claimed) for claimed in batch])
        states += settled.accepted.values()
        await clock.advance(seconds(5))
        await store.promote(10)

    assert states == [State.RETRYING, State.RETRYING, State.FAILED]
    dead = await found(store, job)
    assert (dead.state, dead.attempt, dead.failures, dead.due_at) == (State.FAILED, 3, 3, None)
    assert (dead.error, dead.finished_at) == (BOOM, clock.now - seconds(5))
    assert [attempt.number for attempt in await store.attempts(job)] == [1, 2, 3]


async def test_the_path_of_a_job_that_always_fails(store: Store, clock: Clock) -> None:
    """S1.31, S1.60, S4.34: failed attempts go back to the line while below the limit, and to failed at it."""
    job = await enqueue_one(store, policy=Policy(max_attempts=2))
    for _ in range(2):
        [claimed] = await claim(store)
        await settle(store, [recoverable(claimed)])
        await clock.advance(seconds(5))
        await store.promote(10)
    assert await path_of(store, job) == ["queued", "started", "retrying", "queued", "started", "failed"]
    assert await claim(store) == []


async def test_a_job_that_recovers_has_both_attempts_on_record(store: Store, clock: Clock) -> None:
    """S2.42, S4.15, S4.37: a failed execution is picked again and may succeed."""
    job = await enqueue_one(store)
    [first] = await claim(store, worker="a")
    await settle(store, [recoverable(first)], worker="a")
    await clock.advance(seconds(5))
    await store.promote(10)
    [second] = await claim(store, worker="b")
    await settle(store, [succeeded(second)], worker="b")

    done = await found(store, job)
    assert (done.state, done.attempt, done.failures) == (State.SUCCEEDED, 2, 1)
    assert [(attempt.worker, attempt.ending, attempt.error) for attempt in await store.attempts(job)] == [
        ("a", Ending.RECOVERABLE, BOOM),
        ("b", Ending.SUCCEEDED, None),
    ]


async def test_a_fatal_error_ends_a_job_whatever_attempts_are_left(store: Store, clock: Clock) -> None:
    """S2.13, S3.20, S4.6: failed at once, for good, with its error."""
    job = await enqueue_one(store, policy=Policy(max_attempts=10))
    [claimed] = await claim(store, worker="a")
    now = await clock.advance(seconds(1))

    settled = await settle(store, [unrecoverable(claimed)])

    assert settled.accepted == {claimed.lease: State.FAILED}
    dead = await found(store, job)
    assert (dead.state, dead.finished_at, dead.error, dead.failures) == (State.FAILED, now, BOOM, 1)
    assert (dead.worker, dead.lease_expires_at) == (None, None)
    [attempt] = await store.attempts(job)
    assert (attempt.ending, attempt.error) == (Ending.UNRECOVERABLE, BOOM)
    *_, event = await store.events(job)
    assert (event.type, event.actor) == ("failed", "a")
    assert (await settle(store, [succeeded(claimed)])).lost == [claimed.lease]
    assert await claim(store) == []


@pytest.mark.parametrize(
    ("outcome", "state"),
    [
        (succeeded, State.SUCCEEDED),
        (recoverable, State.CANCELLED),
        (unrecoverable, State.FAILED),
        (stopped, State.CANCELLED),
        (suspended, State.CANCELLED),
    ],
)
async def test_a_job_asked_to_stop_is_never_run_again(
    store: Store, clock: Clock, outcome: Callable[[Claimed], Report], state: State
) -> None:
    """Success and a fatal error stand; every other ending of a cancelling job is cancelled, for good."""
    job = await enqueue_one(store)
    [claimed] = await claim(store, worker="a")
    await store.cancel([job])

    settled = await settle(store, [outcome(claimed)])

    assert settled.accepted == {claimed.lease: state}
    ended = await found(store, job)
    assert (ended.state, ended.finished_at, ended.worker) == (state, clock.now, None)
    assert await path_of(store, job) == ["queued", "started", "cancelling", state.value]
    assert (await store.events(job))[-1].actor == "a"
    await clock.advance(seconds(3600))
    assert await store.promote(10) == []
    assert await claim(store) == []


async def test_the_owner_cannot_stop_what_nobody_asked_to_stop(store: Store) -> None:
    """Such a report is lost, and the job still runs under the same lease."""
    job = await enqueue_one(store)
    [claimed] = await claim(store)
    before = await record_of(store, job)

    assert (await settle(store, [stopped(claimed)])).lost == [claimed.lease]

    assert await record_of(store, job) == before
    assert (await settle(store, [succeeded(claimed)])).accepted == {claimed.lease: State.SUCCEEDED}


async def test_a_suspended_job_gives_its_slot_and_its_attempt_back(store: Store, clock: Clock) -> None:
    """Waiting is not failing: the attempt is refunded; the fence is not."""
    job = await enqueue_one(store)
    [claimed] = await claim(store, worker="a")
    now = await clock.advance(seconds(1))

    settled = await settle(store, [suspended(claimed, after=seconds(60))])

    assert settled.accepted == {claimed.lease: State.SUSPENDED}
    waiting = await found(store, job)
    assert (waiting.state, waiting.due_at) == (State.SUSPENDED, now + seconds(60))
    assert (waiting.attempt, waiting.suspensions, waiting.failures) == (0, 1, 0)
    assert (waiting.fence, waiting.worker, waiting.lease_expires_at) == (claimed.lease.fence, None, None)
    [attempt] = await store.attempts(job)
    assert (attempt.number, attempt.ending, attempt.ended_at) == (1, Ending.SUSPENDED, now)


async def test_a_job_may_wait_more_often_than_it_may_fail(store: Store, clock: Clock) -> None:
    """The same attempt is resumed under a new fence each time; no suspension uses up an attempt."""
    job = await enqueue_one(store, policy=Policy(max_attempts=1))
    fences = []
    for _ in range(4):
        [claimed] = await claim(store)
        assert claimed.attempt == 1
        fences.append(claimed.lease.fence)
        await settle(store, [suspended(claimed, after=seconds(60))])
        await clock.advance(seconds(60))
        await store.promote(10)

    assert fences == sorted(set(fences))
    assert [attempt.fence for attempt in await store.attempts(job)] == fences
    [last] = await claim(store)
    assert (await settle(store, [recoverable(last)])).accepted == {last.lease: State.FAILED}


async def test_nobody_waits_for_ever(store: Store, backend: Backend) -> None:
    """A job suspended once too often has failed."""
    job = await enqueue_one(store)
    await backend.sql(f"UPDATE tenure.job_state SET suspensions = {MOST_SUSPENSIONS - 1}")
    [claimed] = await claim(store)
    assert (await settle(store, [suspended(claimed)])).accepted == {claimed.lease: State.SUSPENDED}

    other = await enqueue_one(store)
    await backend.sql(f"UPDATE tenure.job_state SET suspensions = {MOST_SUSPENSIONS}")
    [claimed] = await claim(store)
    assert claimed.lease.job == other
    assert (await settle(store, [suspended(claimed)])).accepted == {claimed.lease: State.FAILED}
    assert await state_of(store, job) is State.SUSPENDED


async def test_each_report_of_many_leads_where_it_should(store: Store) -> None:
    """A hundred reports in one call, good and bad: each is judged on its own."""
    await store.enqueue([NewJob(definition="mail") for _ in range(100)])
    batch = await claim(store, limit=100)
    reports, expected, lost = [], {}, []
    for place, claimed in enumerate(batch):
        match place % 5:
            case 0:
                reports.append(succeeded(claimed, f'"{place}"'))
                expected[claimed.lease] = State.SUCCEEDED
            case 1:
                reports.append(recoverable(claimed, error=Failure("Error", f"{place}")))
                expected[claimed.lease] = State.RETRYING
            case 2:
                reports.append(unrecoverable(claimed, error=Failure("Error", f"{place}")))
                expected[claimed.lease] = State.FAILED
            case 3:
                reports.append(suspended(claimed))
                expected[claimed.lease] = State.SUSPENDED
            case _:
                forged = Lease(claimed.lease.job, claimed.lease.fence + 1)
                reports.append(succeeded(forged))
                lost.append(forged)

    settled = await settle(store, reports)

    assert settled.accepted == expected
    assert sorted(settled.lost) == sorted(lost)
    for place, claimed in enumerate(batch):
        job = await found(store, claimed.lease.job)
        assert job.state is expected.get(claimed.lease, State.RUNNING)
        assert job.result == (f'"{place}"' if place % 5 == 0 else None)
        assert job.error == (Failure("Error", f"{place}") if place % 5 in {1, 2} else None)


async def test_a_report_that_cannot_be_recorded_changes_nothing(store: Store, backend: Backend) -> None:
    """S3.36: state, result, attempt and event of every report commit together or not at all."""
    jobs = [await enqueue_one(store, key=key) for key in ("first", "second", "third")]
    batch = await claim(store)
    before = [await record_of(store, job) for job in (jobs[0], jobs[2])]
    await spoil_next_event(backend, "second")

    with pytest.raises(StoreError):
        await settle(store, [succeeded(batch[0]), succeeded(batch[1]), recoverable(batch[2])])

    assert [await record_of(store, job) for job in (jobs[0], jobs[2])] == before
    assert await state_of(store, jobs[1]) is State.RUNNING
    assert await count(backend, "tenure.result") == 0
    assert await count(backend, "tenure.attempt") == 0
    assert [aside.job for aside in (await store.asides()).jobs] == [jobs[1]]
    await step_over_spoilt_event(backend, "second")
    await store.put_back(jobs[1])
    others = [succeeded(claimed) for claimed in (batch[0], batch[2])]
    assert len((await settle(store, others)).accepted) == 2
    assert await state_of(store, jobs[1]) is State.SUCCEEDED
