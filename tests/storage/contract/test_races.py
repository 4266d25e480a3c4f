"""Races: two stores on one database, as two processes have them, that want the same jobs at the same time.

Whoever comes first is left to chance; that there is one winner, and a whole history, is not.
"""

import asyncio
from collections import Counter
from collections.abc import Sequence
from uuid import UUID

from tenure.core.model.job import NewJob, StepTaken
from tenure.core.model.lease import Claimed, Order, Progress, Pulse
from tenure.core.model.outcome import Report
from tenure.core.model.policy import Policy
from tenure.core.model.states import State
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend
from tests.storage.clock import Clock
from tests.storage.verbs import (
    MAIL,
    claim,
    count,
    enqueue_one,
    found,
    hold_together,
    recoverable,
    seconds,
    settle,
    state_of,
    succeeded,
)

ROUNDS = 30
"""Of each race. Those of two processes, in their hundreds, are in `tests/storage/races`."""

ONCE = Policy(max_attempts=1)


async def enqueue_many(store: Store, number: int, **requested: object) -> list[UUID]:
    jobs = [NewJob(definition="mail", **requested) for _ in range(number)]  # type: ignore[arg-type]
    return [job.id for job in await store.enqueue(jobs)]


async def work_off(store: Store, worker: str) -> list[UUID]:
    """Claim and settle until nothing is left; the jobs that this worker ran."""
    order, reports, ran = Order(worker=worker, lines=(MAIL,), limit=7), list[Report](), list[UUID]()
    while (turn := await store.settle_and_claim(reports, order)).claimed or reports:
        assert turn.settled.lost == []
        ran += [claimed.lease.job for claimed in turn.claimed]
        reports = [succeeded(claimed) for claimed in turn.claimed]
    return ran


async def reap_when_run_out(store: Store, clock: Clock) -> list[StepTaken]:
    """Let the leases of half a minute run out, and reap at once."""
    await clock.advance(seconds(30))
    return await store.reap(100)


def jobs_of(taken: Sequence[Claimed | StepTaken]) -> list[UUID]:
    return [one.job if isinstance(one, StepTaken) else one.lease.job for one in taken]


async def test_two_workers_claim_one_job_and_one_wins(store: Store, other: Store) -> None:
    """S0.26, S0.75, S4.39: both attempt the same step and the database lets one of them take it."""
    for _ in range(ROUNDS):
        job = await enqueue_one(store)

        by_a, by_b = await asyncio.gather(claim(store, "a", limit=1), claim(other, "b", limit=1))

        assert jobs_of(by_a + by_b) == [job]
        winner = "a" if by_a else "b"
        assert (await found(store, job)).worker == winner
        await settle(store, [succeeded(claimed) for claimed in by_a + by_b], worker=winner)


async def test_two_bulk_claims_share_nothing(store: Store, other: Store) -> None:
    """S4.41, S0.65: a hundred each in one transaction each, and no job in both."""
    for _ in range(10):
        jobs = await enqueue_many(store, 200)
        by_a, by_b = await asyncio.gather(claim(store, "a", limit=100), claim(other, "b", limit=100))
        assert (len(by_a), len(by_b)) == (100, 100)
        assert set(jobs_of(by_a + by_b)) == set(jobs)


async def test_many_workers_run_every_job_once(store: Store, other: Store) -> None:
    """S0.60, S0.77, S3.32: however many workers there are, each job has one owner and all are done."""
    jobs = await enqueue_many(store, 400)

    ran = await asyncio.gather(*(work_off((store, other)[n % 2], f"worker-{n}") for n in range(8)))

    assert Counter(job for share in ran for job in share) == Counter(jobs)
    for job in jobs:
        assert await state_of(store, job) is State.SUCCEEDED
        assert len(await store.attempts(job)) == 1


async def test_settling_against_reaping_has_one_winner_a_job(
    store: Store, other: Store, clock: Clock
) -> None:
    """S0.61, S3.49: a lease that ends while its jobs are settled; each is either settled or taken away."""
    for _ in range(ROUNDS):
        await enqueue_many(store, 20, policy=ONCE)
        batch = await claim(store, limit=20, lease_for=seconds(30))

        settled, reaped = await asyncio.gather(
            settle(store, [succeeded(claimed) for claimed in reversed(batch)]),
            reap_when_run_out(other, clock),
        )

        reaped += await other.reap(100)
        assert sorted([*settled.accepted, *settled.lost]) == sorted(claimed.lease for claimed in batch)
        assert sorted(jobs_of(reaped)) == sorted(lease.job for lease in settled.lost)
        for claimed in batch:
            job = await found(store, claimed.lease.job)
            is_settled = claimed.lease in settled.accepted
            assert job.state is (State.SUCCEEDED if is_settled else State.FAILED)
            assert (job.result is not None) == is_settled
            assert len(await store.attempts(job.id)) == 1


async def test_settling_against_bulk_cancelling_never_stands_still(store: Store, other: Store) -> None:
    """Both go through the same jobs from opposite ends; neither waits for the other in a circle."""
    for _ in range(ROUNDS):
        await enqueue_many(store, 20)
        batch = await claim(store, limit=20)
        lucky, unlucky = batch[::2], batch[1::2]
        reports = [succeeded(claimed) for claimed in lucky] + [recoverable(claimed) for claimed in unlucky]
        by_place = {claimed.lease: place for place, claimed in enumerate(batch)}

        settled, standings = await asyncio.gather(
            settle(store, sorted(reports, key=lambda one: by_place[one.lease], reverse=True)),
            other.cancel(jobs_of(batch)),
        )

        assert settled.lost == []
        assert len(standings) == 20
        for claimed in batch:
            expected = State.SUCCEEDED if claimed in lucky else State.CANCELLED
            assert await state_of(store, claimed.lease.job) is expected
            assert hold_together(await store.events(claimed.lease.job))


async def test_a_job_is_cancelled_before_its_claim_or_after_it(store: Store, other: Store) -> None:
    """S2.37, S2.40: a claim that came too late has nothing; one that came first owns a job to be stopped."""
    for _ in range(ROUNDS):
        jobs = await enqueue_many(store, 10)

        claimed, standings = await asyncio.gather(claim(store, limit=10), other.cancel(list(reversed(jobs))))

        owned = set(jobs_of(claimed))
        for standing in standings:
            expected = State.CANCELLING if standing.job in owned else State.CANCELLED
            assert (standing.moved, standing.state) == (True, expected)
            assert await state_of(store, standing.job) is expected
            assert hold_together(await store.events(standing.job))
        settled = await settle(store, [recoverable(one) for one in claimed])
        assert set(settled.accepted.values()) <= {State.CANCELLED}
        assert await claim(store) == []


async def test_a_lease_is_kept_or_reaped_and_never_both(store: Store, other: Store, clock: Clock) -> None:
    """S0.61, S2.35: a sign of life in the last moment; what was kept is owned, what was reaped is not."""
    for _ in range(ROUNDS):
        await enqueue_many(store, 5, policy=ONCE)
        batch = await claim(store, limit=5, lease_for=seconds(30))
        leases = [claimed.lease for claimed in batch]
        pulse = Pulse(worker="a", leases=leases[::-1], lease_for=seconds(300))

        beat, reaped = await asyncio.gather(store.heartbeat(pulse), reap_when_run_out(other, clock))

        reaped += await other.reap(100)
        assert beat.kept | beat.lost == set(leases)
        assert sorted(jobs_of(reaped)) == sorted(lease.job for lease in beat.lost)
        settled = await settle(store, [succeeded(claimed) for claimed in batch])
        assert (frozenset(settled.accepted), frozenset(settled.lost)) == (beat.kept, beat.lost)


async def test_progress_against_cancelling_never_stands_still(store: Store, other: Store) -> None:
    """Heartbeats that write and a bulk cancel go through the same jobs from opposite ends."""
    for _ in range(ROUNDS):
        await enqueue_many(store, 20)
        batch = await claim(store, limit=20)
        leases = [claimed.lease for claimed in reversed(batch)]
        pulse = Pulse(worker="a", leases=leases, progress=dict.fromkeys(leases, Progress(0.5)))

        beat, standings = await asyncio.gather(store.heartbeat(pulse), other.cancel(jobs_of(batch)))

        assert beat.kept == set(leases)
        assert {standing.state for standing in standings} == {State.CANCELLING}
        # Progress of a job that is locked can wait: it is told, and sent again.
        again = list(beat.untold)
        await store.heartbeat(Pulse(worker="a", leases=again, progress=dict.fromkeys(again, Progress(0.5))))
        assert {(await found(store, lease.job)).progress for lease in leases} == {Progress(0.5)}
        await settle(store, [succeeded(claimed) for claimed in batch])


async def test_two_reapers_take_each_job_once(store: Store, other: Store, clock: Clock) -> None:
    """S3.49: an orphan is queued once, however many look for orphans."""
    for _ in range(ROUNDS):
        jobs = await enqueue_many(store, 10, policy=Policy(max_attempts=2))
        for _ in range(2):
            await claim(store, limit=5, lease_for=seconds(30))
        await clock.advance(seconds(30))

        by_one, by_two = await asyncio.gather(store.reap(100), other.reap(100))

        assert sorted(jobs_of(by_one + by_two)) == sorted(jobs)
        assert sorted(await work_off(store, "a")) == sorted(jobs)


async def test_two_promotions_queue_each_job_once(store: Store, other: Store, clock: Clock) -> None:
    """S4.40: no race on looking at a delayed job; it becomes ready once."""
    for _ in range(ROUNDS):
        jobs = await enqueue_many(store, 10, delay=seconds(10))
        await clock.advance(seconds(10))

        by_one, by_two = await asyncio.gather(store.promote(100), other.promote(100))

        promoted = by_one + by_two + await store.promote(100)
        assert sorted(jobs_of(promoted)) == sorted(jobs)
        assert sorted(await work_off(store, "a")) == sorted(jobs)


async def test_a_job_cancelled_while_it_is_promoted_does_not_run(
    store: Store, other: Store, backend: Backend, clock: Clock
) -> None:
    """Whichever comes first, it is cancelled in the end and nothing of it is left in line."""
    for _ in range(ROUNDS):
        jobs = await enqueue_many(store, 10, delay=seconds(10))
        await clock.advance(seconds(10))

        await asyncio.gather(store.promote(100), other.cancel(list(reversed(jobs))))

        for job in jobs:
            assert await state_of(store, job) is State.CANCELLED
            assert hold_together(await store.events(job))
        await store.promote(100)
        assert await claim(store) == []
    assert await count(backend, "tenure.timer") == 0


async def test_two_settlements_of_one_lease_have_one_winner(store: Store, other: Store) -> None:
    """S0.14: a report sent twice, as after a connection that broke, counts once."""
    for _ in range(ROUNDS):
        await enqueue_many(store, 5)
        batch = await claim(store)

        first, second = await asyncio.gather(
            settle(store, [succeeded(claimed, '"first"') for claimed in batch]),
            settle(other, [succeeded(claimed, '"second"') for claimed in reversed(batch)]),
        )

        assert sorted([*first.accepted, *second.accepted]) == sorted(claimed.lease for claimed in batch)
        for claimed in batch:
            winner = '"first"' if claimed.lease in first.accepted else '"second"'
            assert (await found(store, claimed.lease.job)).result == winner
