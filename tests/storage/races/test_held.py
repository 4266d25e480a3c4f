"""Meetings: one verb is held in its transaction, before the commit, while another process makes a call.

On PostgreSQL a verb that must have the job is seen waiting for the row, and one that takes what there is
answers at once without it; on SQLite every verb is seen waiting for the file. Once the first has committed,
both answers agree with each other and with the records.
"""

from uuid import UUID

from tenure.core.model.job import JobStanding, NewJob, StepTaken
from tenure.core.model.lease import Claimed, Progress
from tenure.core.model.policy import Policy
from tenure.core.model.states import State
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend
from tests.storage.clock import Clock
from tests.storage.races.record_check import faults
from tests.storage.races.requests import beats, cancels, claims, promotes, reaps, settles, turns
from tests.storage.races.two_processes import Stage
from tests.storage.verbs import (
    claim,
    count,
    enqueue_one,
    found,
    path_of,
    recoverable,
    seconds,
    settle,
    state_of,
    steps,
    stopped,
    succeeded,
)


async def owned_job(store: Store, attempts: int = 3) -> Claimed:
    """A job that worker a has claimed for half a minute."""
    await enqueue_one(store, policy=Policy(max_attempts=attempts))
    [owned] = await claim(store, "a", limit=1, lease_for=seconds(30))
    return owned


def jobs_of(claimed: list[Claimed]) -> list[UUID]:
    return [one.lease.job for one in claimed]


async def test_a_claim_passes_over_what_another_is_claiming(store: Store, stage: Stage) -> None:
    """S3.37: no job is in both answers, none is left out, and each is owned by the worker that got it."""
    jobs = [await enqueue_one(store) for _ in range(4)]

    first, second = await stage.meet(claims("a", 2), claims("b", 2), passes=True)

    assert jobs_of(first.claimed) == jobs[:2]
    assert jobs_of(second.claimed) == jobs[2:]
    for worker, turn in (("a", first), ("b", second)):
        settled = await settle(store, [succeeded(one) for one in turn.claimed], worker)
        assert settled.lost == []
    assert await faults(stage.backend) == []


async def test_a_claim_of_the_last_job_leaves_nothing_to_another(store: Store, stage: Stage) -> None:
    """Both want the same one: the second has nothing, neither at once nor when it asks again."""
    job = await enqueue_one(store)
    first, second = await stage.meet(claims("a", 1), claims("b", 1), passes=True)
    assert jobs_of(first.claimed) == [job]
    assert second.claimed == ()
    assert (await stage.bob.ask(claims("b", 1))).answer.claimed == ()
    assert await path_of(store, job) == ["queued", "started"]


async def test_what_is_being_settled_is_not_reaped(store: Store, stage: Stage, clock: Clock) -> None:
    """The report came while the lease held; that its lease ends before its commit takes nothing from it."""
    owned = await owned_job(store)
    clock.now += seconds(30)

    settled, reaped = await stage.meet(settles("a", [succeeded(owned)]), reaps(at=clock.now), passes=True)

    assert settled.settled.accepted == {owned.lease: State.SUCCEEDED}
    assert reaped == ()
    assert await store.reap(10) == []
    assert await path_of(store, owned.lease.job) == ["queued", "started", "succeeded"]
    assert await faults(stage.backend) == []


async def test_the_reaper_comes_back_for_what_is_being_cancelled(
    store: Store, stage: Stage, clock: Clock
) -> None:
    """It takes the rest of the lease at once, and forgets neither the lease nor the request to stop."""
    jobs = [await enqueue_one(store) for _ in range(3)]
    await claim(store, lease_for=seconds(30))
    clock.now += seconds(30)

    cancelled, reaped = await stage.meet(cancels([jobs[1]]), reaps(at=clock.now), passes=True)

    assert cancelled == (JobStanding(jobs[1], State.CANCELLING, True),)
    reaped += tuple(await store.reap(10))
    assert {(one.job, one.target) for one in reaped} == {
        (jobs[0], State.QUEUED),
        (jobs[1], State.CANCELLED),
        (jobs[2], State.QUEUED),
    }
    assert await path_of(store, jobs[1]) == ["queued", "started", "cancelling", "cancelled"]
    assert await faults(stage.backend) == []


async def test_a_report_waits_for_a_reaper_and_is_lost(store: Store, stage: Stage, clock: Clock) -> None:
    """The lease held when the report began; that the job is taken away it sees when it may look."""
    owned = await owned_job(store)
    clock.now += seconds(30)

    reaped, settled = await stage.meet(reaps(at=clock.now), settles("a", [succeeded(owned)]))

    assert steps(reaped) == [StepTaken(owned.lease.job, State.RUNNING, State.QUEUED)]
    assert (settled.settled.accepted, settled.settled.lost) == ({}, (owned.lease,))
    assert await path_of(store, owned.lease.job) == ["queued", "started", "orphaned"]
    assert jobs_of(await claim(store, "b")) == [owned.lease.job]
    assert await faults(stage.backend) == []


async def test_a_claim_passes_over_what_is_being_cancelled(store: Store, stage: Stage) -> None:
    """A job that is being cancelled is not started; the one behind it is."""
    job, following = await enqueue_one(store), await enqueue_one(store)

    cancelled, turn = await stage.meet(cancels([job]), claims("a"), passes=True)

    assert cancelled == (JobStanding(job, State.CANCELLED, True),)
    assert jobs_of(turn.claimed) == [following]
    assert await claim(store) == []
    assert await path_of(store, job) == ["queued", "cancelled"]
    assert await count(stage.backend, "tenure.ready") == 0


async def test_a_cancellation_waits_for_a_claim_and_asks_its_worker(store: Store, stage: Stage) -> None:
    """The job it wanted to take from the line is running by now: its owner has to stop it."""
    job = await enqueue_one(store)

    turn, cancelled = await stage.meet(claims("a"), cancels([job]))

    assert cancelled == (JobStanding(job, State.CANCELLING, True),)
    [owned] = turn.claimed
    assert (await settle(store, [stopped(owned)])).accepted == {owned.lease: State.CANCELLED}
    assert await path_of(store, job) == ["queued", "started", "cancelling", "cancelled"]
    assert await faults(stage.backend) == []


async def test_a_failure_waits_for_a_cancellation_and_is_not_tried_again(store: Store, stage: Stage) -> None:
    """The report is decided on what the cancellation left: no backoff for a job that was asked to stop."""
    owned = await owned_job(store)

    cancelled, settled = await stage.meet(cancels([owned.lease.job]), settles("a", [recoverable(owned)]))

    assert cancelled == (JobStanding(owned.lease.job, State.CANCELLING, True),)
    assert settled.settled.accepted == {owned.lease: State.CANCELLED}
    assert await path_of(store, owned.lease.job) == ["queued", "started", "cancelling", "cancelled"]
    assert await count(stage.backend, "tenure.timer") == 0


async def test_a_cancellation_waits_for_a_success_and_leaves_it(store: Store, stage: Stage) -> None:
    """It says what became of the job, and that it was not by this request."""
    owned = await owned_job(store)

    settled, cancelled = await stage.meet(settles("a", [succeeded(owned)]), cancels([owned.lease.job]))

    assert settled.settled.accepted == {owned.lease: State.SUCCEEDED}
    assert cancelled == (JobStanding(owned.lease.job, State.SUCCEEDED, False),)
    assert await path_of(store, owned.lease.job) == ["queued", "started", "succeeded"]


async def test_a_cancellation_waits_for_a_failure_and_ends_its_backoff(store: Store, stage: Stage) -> None:
    """The timer is newer than what the cancellation could see when it began; still it wakes no worker."""
    owned = await owned_job(store)

    _, cancelled = await stage.meet(
        settles("a", [recoverable(owned, seconds(0))]), cancels([owned.lease.job])
    )

    assert cancelled == (JobStanding(owned.lease.job, State.CANCELLED, True),)
    assert await store.promote(10) == []
    assert await count(stage.backend, "tenure.timer") == 0
    assert await path_of(store, owned.lease.job) == ["queued", "started", "retrying", "cancelled"]


async def test_a_lease_that_is_being_prolonged_is_not_reaped(
    store: Store, stage: Stage, clock: Clock
) -> None:
    """A sign of life in the last moment counts, though the lease has run out before it is committed."""
    owned = await owned_job(store)
    clock.now += seconds(30)

    beat, reaped = await stage.meet(beats("a", [owned.lease]), reaps(at=clock.now), passes=True)

    assert (beat.kept, beat.lost) == ({owned.lease}, frozenset())
    assert reaped == ()
    assert await store.reap(10) == []
    kept = await found(store, owned.lease.job)
    assert (kept.state, kept.progress) == (State.RUNNING, Progress(0.5))
    assert (await settle(store, [succeeded(owned)])).lost == []


async def test_a_heartbeat_waits_for_a_reaper_and_revives_nothing(
    store: Store, stage: Stage, clock: Clock
) -> None:
    """The worker learns that it has lost the job; no progress is written on what is not its own."""
    owned = await owned_job(store, attempts=1)
    clock.now += seconds(30)

    reaped, beat = await stage.meet(reaps(at=clock.now), beats("a", [owned.lease]))

    assert steps(reaped) == [StepTaken(owned.lease.job, State.RUNNING, State.FAILED)]
    assert (beat.kept, beat.lost) == (frozenset(), {owned.lease})
    lost = await found(store, owned.lease.job)
    assert (lost.state, lost.progress) == (State.FAILED, None)
    assert await count(stage.backend, "tenure.lease") == 0


async def test_a_promotion_passes_over_what_is_being_cancelled(
    store: Store, stage: Stage, clock: Clock
) -> None:
    """A job that is cancelled at the moment it is due does not get in line, then or later."""
    job, other = [await enqueue_one(store, delay=seconds(10)) for _ in range(2)]
    await clock.advance(seconds(10))

    cancelled, promoted = await stage.meet(cancels([job]), promotes(), passes=True)

    assert cancelled == (JobStanding(job, State.CANCELLED, True),)
    assert promoted == (StepTaken(other, State.SCHEDULED, State.QUEUED),)
    assert await store.promote(10) == []
    assert jobs_of(await claim(store)) == [other]
    assert await path_of(store, job) == ["scheduled", "cancelled"]


async def test_a_cancellation_waits_for_a_promotion_and_takes_the_job_out_of_line(
    store: Store, stage: Stage, clock: Clock
) -> None:
    """The place in line is newer than what the cancellation could see; no job is claimed from it."""
    job, other = [await enqueue_one(store, delay=seconds(10)) for _ in range(2)]
    await clock.advance(seconds(10))

    promoted, cancelled = await stage.meet(promotes(), cancels([job]))

    assert [moved.job for moved in promoted] == [job, other]
    assert cancelled == (JobStanding(job, State.CANCELLED, True),)
    assert jobs_of(await claim(store)) == [other]
    assert await count(stage.backend, "tenure.ready") == 0
    assert await path_of(store, job) == ["scheduled", "queued", "cancelled"]


async def test_a_bulk_cancellation_waits_for_a_worker_and_then_takes_the_rest(
    store: Store, backend: Backend, stage: Stage
) -> None:
    """What the turn settled has ended, what it claimed is asked to stop, all others end in line."""
    batch, waiting = await a_batch_and_a_line(store)
    ids = [*waiting[::-1], *jobs_of(batch)]

    turn, standings = await stage.meet(turns("a", map(succeeded, batch), limit=4), cancels(ids))

    assert set(turn.settled.accepted) == {one.lease for one in batch}
    started = jobs_of(turn.claimed)
    assert started == waiting[:4]
    expected = dict.fromkeys(waiting, State.CANCELLED) | dict.fromkeys(started, State.CANCELLING)
    for standing in standings:
        after = expected.get(standing.job, State.SUCCEEDED)
        assert (standing.state, standing.moved) == (after, after is not State.SUCCEEDED)
        assert await state_of(store, standing.job) is after
    assert await faults(backend) == []


async def test_a_worker_waits_for_a_bulk_cancellation_and_finds_the_line_empty(
    store: Store, backend: Backend, stage: Stage
) -> None:
    """Failures end as cancelled, successes stay successes, and there is nothing left to claim."""
    batch, waiting = await a_batch_and_a_line(store)
    lucky, unlucky = batch[::2], batch[1::2]
    reports = [*map(recoverable, unlucky[::-1]), *map(succeeded, lucky[::-1])]

    standings, turn = await stage.meet(cancels([*jobs_of(batch), *waiting]), turns("a", reports))

    assert all(standing.moved for standing in standings)
    assert turn.settled.accepted == {
        **dict.fromkeys([one.lease for one in lucky], State.SUCCEEDED),
        **dict.fromkeys([one.lease for one in unlucky], State.CANCELLED),
    }
    assert turn.claimed == ()
    assert await claim(store) == []
    assert await faults(backend) == []


async def a_batch_and_a_line(store: Store) -> tuple[list[Claimed], list[UUID]]:
    """Eight jobs that worker a has claimed, and eight that wait in the same line."""
    await store.enqueue([NewJob(definition="mail") for _ in range(8)])
    batch = await claim(store, "a", limit=8)
    return batch, [one.id for one in await store.enqueue([NewJob(definition="mail") for _ in range(8)])]
