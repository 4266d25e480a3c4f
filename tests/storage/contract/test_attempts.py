"""The attempts of a job: each by its fence, with its worker and how it ended."""

from datetime import timedelta
from uuid import uuid4

import pytest

from tenure.core.model.outcome import (
    Attempt,
    Ending,
    Outcome,
    Recoverable,
    Stopped,
    Succeeded,
    Suspended,
    Unrecoverable,
)
from tenure.core.model.policy import OnLost, Policy
from tenure.core.model.states import State
from tenure.core.model.trail import Usage
from tenure.core.values.failure import Failure
from tenure.storage.contract.store import Store
from tests.storage.clock import START, Clock
from tests.storage.verbs import (
    BOOM,
    claim,
    enqueue_one,
    found,
    recoverable,
    report,
    seconds,
    settle,
    stopped,
    succeeded,
    suspended,
    unrecoverable,
)


async def test_a_job_that_was_never_claimed_has_no_attempts(store: Store) -> None:
    job = await enqueue_one(store)
    assert await store.attempts(job) == []
    await store.cancel([job])
    assert await store.attempts(job) == []


async def test_an_unknown_job_has_no_attempts(store: Store) -> None:
    await enqueue_one(store)
    await claim(store)
    assert await store.attempts(uuid4()) == []


async def test_the_attempt_that_runs_now_is_shown_without_an_end(store: Store, clock: Clock) -> None:
    """S2.6, S4.5: while somebody works on it, the record says who, and since when."""
    job = await enqueue_one(store)
    now = await clock.advance(seconds(3))
    [owned] = await claim(store, worker="ann")
    running = Attempt(job=job, fence=owned.lease.fence, number=1, worker="ann", started_at=now)
    assert await store.attempts(job) == [running]
    assert (await found(store, job)).state is State.RUNNING

    await store.cancel([job])
    assert await store.attempts(job) == [running]


async def test_an_attempt_that_succeeded_says_so(store: Store, clock: Clock) -> None:
    job = await enqueue_one(store)
    [owned] = await claim(store, worker="ann")
    now = await clock.advance(seconds(3))
    await settle(store, [succeeded(owned)], worker="ann")
    assert await store.attempts(job) == [
        Attempt(
            job=job,
            fence=owned.lease.fence,
            number=1,
            worker="ann",
            started_at=START,
            ended_at=now,
            ending=Ending.SUCCEEDED,
        )
    ]


async def test_every_failure_is_kept_with_its_attempt(store: Store, clock: Clock) -> None:
    """S0.30, S2.3, S3.5: three tries, three errors, in order."""
    job = await enqueue_one(store, policy=Policy(max_attempts=3))
    errors = [
        Failure("app.Late", "try 1 – čas", "Traceback …\n  line"),
        Failure("E", ""),
        Failure("F", "x" * 5000),
    ]
    fences = []
    for error in errors:
        [owned] = await claim(store)
        fences.append(owned.lease.fence)
        await settle(store, [report(owned, Recoverable(error, seconds(5)))])
        await clock.advance(seconds(5))
        await store.promote(10)

    attempts = await store.attempts(job)
    assert [attempt.number for attempt in attempts] == [1, 2, 3]
    assert [attempt.fence for attempt in attempts] == fences == sorted(set(fences))
    assert [attempt.error for attempt in attempts] == errors
    assert {attempt.ending for attempt in attempts} == {Ending.RECOVERABLE}
    there = await found(store, job)
    assert (there.state, there.failures, there.error) == (State.FAILED, 3, errors[-1])


async def test_a_fatal_error_is_kept_with_its_attempt(store: Store) -> None:
    job = await enqueue_one(store)
    [owned] = await claim(store)
    error = Failure("app.Gone", "no such customer")
    await settle(store, [report(owned, Unrecoverable(error))])
    [attempt] = await store.attempts(job)
    assert (attempt.ending, attempt.error) == (Ending.UNRECOVERABLE, error)


async def test_an_error_is_recorded_even_with_characters_that_no_store_takes(store: Store) -> None:
    job = await enqueue_one(store)
    [owned] = await claim(store)
    await settle(store, [recoverable(owned, error=Failure("OSError", "no file \udcff\x00", "in \ud800"))])
    [attempt] = await store.attempts(job)
    assert attempt.error is not None
    assert attempt.error.message.startswith("no file ")
    assert (await found(store, job)).state is State.RETRYING


async def test_a_stopped_attempt_says_so(store: Store) -> None:
    job = await enqueue_one(store)
    [owned] = await claim(store)
    await store.cancel([job])
    await settle(store, [stopped(owned)])
    [attempt] = await store.attempts(job)
    assert (attempt.ending, attempt.error) == (Ending.STOPPED, None)


async def test_an_attempt_that_failed_while_it_was_asked_to_stop_keeps_its_error(store: Store) -> None:
    job = await enqueue_one(store)
    [owned] = await claim(store)
    await store.cancel([job])
    await settle(store, [recoverable(owned)])
    [attempt] = await store.attempts(job)
    assert (attempt.ending, attempt.error) == (Ending.RECOVERABLE, BOOM)


async def test_a_suspended_attempt_goes_on_under_the_same_number_and_a_new_fence(
    store: Store, clock: Clock
) -> None:
    job = await enqueue_one(store)
    [owned] = await claim(store)
    await settle(store, [suspended(owned, after=seconds(5))])
    await clock.advance(seconds(5))
    await store.promote(10)
    [again] = await claim(store)
    await settle(store, [succeeded(again)])

    one, two = await store.attempts(job)
    assert (one.ending, two.ending) == (Ending.SUSPENDED, Ending.SUCCEEDED)
    assert (one.number, two.number) == (1, 1)
    assert (one.fence, two.fence) == (owned.lease.fence, again.lease.fence)


@pytest.mark.parametrize(("started", "ending"), [(False, Ending.HANDED_BACK), (True, Ending.KILLED)])
async def test_an_attempt_that_was_given_back_says_whether_it_had_started(
    store: Store, clock: Clock, started: bool, ending: Ending
) -> None:
    job = await enqueue_one(store)
    [owned] = await claim(store, worker="ann")
    now = await clock.advance(seconds(3))
    unstarted, killed = ([], [owned.lease]) if started else ([owned.lease], [])
    await store.hand_back("ann", unstarted=unstarted, killed=killed)
    [again] = await claim(store, worker="bob")

    one, two = await store.attempts(job)
    assert (one.ending, one.ended_at, one.worker, one.number) == (ending, now, "ann", 1)
    assert (two.ending, two.worker, two.number, two.fence) == (None, "bob", 1, again.lease.fence)


@pytest.mark.parametrize("on_lost", list(OnLost))
async def test_an_attempt_whose_worker_was_lost_says_so(store: Store, clock: Clock, on_lost: OnLost) -> None:
    job = await enqueue_one(store, policy=Policy(on_lost=on_lost))
    [owned] = await claim(store, worker="ann", lease_for=seconds(30))
    now = await clock.advance(seconds(31))
    await store.reap(10)
    [attempt] = await store.attempts(job)
    assert (attempt.ending, attempt.worker, attempt.number) == (Ending.LOST, "ann", 1)
    assert (attempt.fence, attempt.started_at, attempt.ended_at) == (owned.lease.fence, START, now)


async def test_a_late_report_adds_nothing(store: Store, clock: Clock) -> None:
    job = await enqueue_one(store)
    [owned] = await claim(store, lease_for=seconds(30))
    await clock.advance(seconds(31))
    before = await store.attempts(job)
    await settle(store, [unrecoverable(owned)])
    assert await store.attempts(job) == before

    await store.reap(10)
    before = await store.attempts(job)
    await settle(store, [unrecoverable(owned)])
    assert await store.attempts(job) == before


@pytest.mark.parametrize(
    "usage",
    [
        Usage(),
        Usage(exit_code=0, cpu=timedelta(milliseconds=1_234), peak_memory=52_428_800),
        Usage(exit_code=3),
        Usage(signal=9, cpu=timedelta(days=400), peak_memory=2**40),
        Usage(exit_code=-(2**31), signal=127, cpu=timedelta(days=365_000), peak_memory=2**63 - 1),
    ],
)
async def test_what_an_attempt_used_is_kept_with_it(store: Store, usage: Usage) -> None:
    job = await enqueue_one(store)
    [owned] = await claim(store)
    await settle(store, [report(owned, Succeeded(), usage)])
    [attempt] = await store.attempts(job)
    assert attempt.usage == usage


async def test_each_attempt_has_a_usage_of_its_own(store: Store) -> None:
    """However each ended, and whether or not its neighbours of the same call say anything."""
    jobs = [await enqueue_one(store) for _ in range(6)]
    owned = {claimed.lease.job: claimed for claimed in await claim(store)}
    await store.cancel([jobs[4]])
    outcomes: tuple[Outcome, ...] = (
        Succeeded(),
        Recoverable(BOOM, seconds(5)),
        Unrecoverable(BOOM),
        Suspended(seconds(5)),
        Stopped(),
    )
    usages = [Usage(exit_code=n, cpu=timedelta(milliseconds=n), peak_memory=n) for n in range(5)]
    reports = [
        report(owned[job], outcome, usage)
        for job, outcome, usage in zip(jobs, outcomes, usages, strict=False)
    ]
    await settle(store, [*reports, succeeded(owned[jobs[5]])])
    kept = [attempt.usage for job in jobs for attempt in await store.attempts(job)]
    assert kept == [*usages, None]


async def test_an_attempt_of_which_nobody_says_what_it_used_says_nothing(store: Store, clock: Clock) -> None:
    """While it runs, when its owner is silent, when it was given back, when its worker was lost."""
    silent, returned, lost, running = [await enqueue_one(store) for _ in range(4)]
    owned = {claimed.lease.job: claimed for claimed in await claim(store, limit=3, lease_for=seconds(30))}
    await settle(store, [succeeded(owned[silent])])
    await store.hand_back("a", unstarted=[], killed=[owned[returned].lease])
    await clock.advance(seconds(31))
    await store.reap(10)
    await claim(store)
    for job in (silent, returned, lost, running):
        attempts = await store.attempts(job)
        assert {attempt.usage for attempt in attempts} == {None}, job
        assert attempts


async def test_cpu_time_is_kept_in_whole_milliseconds(store: Store) -> None:
    job = await enqueue_one(store)
    [owned] = await claim(store)
    await settle(store, [report(owned, Succeeded(), Usage(cpu=timedelta(microseconds=1_999)))])
    [attempt] = await store.attempts(job)
    assert attempt.usage == Usage(cpu=timedelta(milliseconds=1))


@pytest.mark.parametrize("limit", [1, 2, 5])
async def test_starts_are_read_in_pieces(store: Store, limit: int) -> None:
    """The one under way comes last, once."""
    job = await enqueue_one(store)
    for _ in range(3):
        [owned] = await claim(store)
        await store.hand_back("a", unstarted=[owned.lease], killed=[])
    await claim(store)
    read: list[Attempt] = []
    while piece := await store.attempts(job, after=read[-1].fence if read else 0, limit=limit):
        assert len(piece) <= limit
        read += piece
    assert read == await store.attempts(job)
    assert len(read) == 4
    assert read[-1].ending is None
