"""Meetings of a call that gives a waiting job another time with those that want the same job."""

from tenure.core.model.job import JobStanding, StepTaken
from tenure.core.model.states import State
from tenure.core.model.trail import RESCHEDULED
from tenure.storage.contract.store import Store
from tests.storage.clock import Clock
from tests.storage.races.record_check import faults
from tests.storage.races.requests import cancels, gives_up, promotes, reschedules
from tests.storage.races.two_processes import Stage
from tests.storage.verbs import count, enqueue_one, job_in, path_of, seconds

HOUR = seconds(3600)


async def test_a_job_that_is_being_moved_is_not_promoted(store: Store, stage: Stage, clock: Clock) -> None:
    """Its first time has come meanwhile: the round of the clock passes over it, and finds it later."""
    job = await enqueue_one(store, delay=seconds(10))
    clock.now += seconds(10)

    moved, promoted = await stage.meet(reschedules([job], HOUR), promotes(at=clock.now), passes=True)

    assert moved == (JobStanding(job, State.SCHEDULED, True),)
    assert promoted == ()
    assert await store.promote(10) == []
    await clock.advance(HOUR)
    assert await store.promote(10) == [StepTaken(job, State.SCHEDULED, State.QUEUED)]
    assert await faults(stage.backend) == []


async def test_a_job_that_is_being_promoted_is_not_moved(store: Store, stage: Stage, clock: Clock) -> None:
    job = await enqueue_one(store, delay=seconds(10))
    clock.now += seconds(10)

    promoted, moved = await stage.meet(promotes(at=clock.now), reschedules([job], HOUR))

    assert promoted == (StepTaken(job, State.SCHEDULED, State.QUEUED),)
    assert moved == (JobStanding(job, State.QUEUED, False),)
    assert await path_of(store, job) == ["scheduled", "queued"]
    assert await count(stage.backend, "tenure.timer") == 0


async def test_a_give_up_waits_for_a_move_and_finds_the_job_at_its_new_time(
    store: Store, stage: Stage
) -> None:
    """It must not answer that the job is given up while a timer it did not see leads back to the line."""
    job = await job_in(store, State.RETRYING)

    moved, marked = await stage.meet(reschedules([job], HOUR), gives_up([job]))

    assert [one.moved for one in (*moved, *marked)] == [True, True]
    assert await store.promote(10) == [StepTaken(job, State.RETRYING, State.FAILED)]
    assert await count(stage.backend, "tenure.timer") == 0
    assert await faults(stage.backend) == []


async def test_a_move_waits_for_a_give_up_and_is_refused(store: Store, stage: Stage) -> None:
    job = await job_in(store, State.RETRYING)

    marked, moved = await stage.meet(gives_up([job]), reschedules([job], HOUR))

    assert marked == (JobStanding(job, State.RETRYING, True),)
    assert moved == (JobStanding(job, State.RETRYING, False, is_given_up=True),)
    assert await store.promote(10) == [StepTaken(job, State.RETRYING, State.FAILED)]


async def test_a_cancellation_waits_for_a_move_and_its_timer_is_dropped_in_time(
    store: Store, stage: Stage, clock: Clock
) -> None:
    """The cancellation may not see the new timer: what it leaves behind leads nowhere when it is due."""
    job = await job_in(store, State.SCHEDULED)

    moved, cancelled = await stage.meet(reschedules([job], HOUR), cancels([job]))

    assert [one.moved for one in (*moved, *cancelled)] == [True, True]
    assert await path_of(store, job) == ["scheduled", RESCHEDULED, "cancelled"]
    await clock.advance(HOUR)
    assert await store.promote(10) == []
    assert await count(stage.backend, "tenure.timer") == 0
    assert await faults(stage.backend) == []


async def test_a_move_waits_for_a_cancellation_and_is_refused(store: Store, stage: Stage) -> None:
    job = await job_in(store, State.SCHEDULED)

    cancelled, moved = await stage.meet(cancels([job]), reschedules([job], HOUR))

    assert cancelled == (JobStanding(job, State.CANCELLED, True),)
    assert moved == (JobStanding(job, State.CANCELLED, False),)
    assert await count(stage.backend, "tenure.timer") == 0
