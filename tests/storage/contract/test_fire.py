"""Firing: a schedule's move, its tick and its job are one transaction, and happen once."""

import asyncio
from datetime import datetime
from uuid import UUID

from msgspec.structs import replace

from tenure.core.model.job import NewJob
from tenure.core.model.states import State
from tenure.core.schedule.schedule import DueTick, Firing, Schedule, ScheduledJob, ScheduleName, TickOutcome
from tenure.storage.contract.store import Store
from tests.storage.clock import Clock
from tests.storage.contract.test_schedules import NIGHTLY, added, due_now
from tests.storage.verbs import claim, seconds, settle, state_of, succeeded

MINUTE = seconds(60)


async def due(store: Store, clock: Clock, name: str = "nightly") -> Schedule:
    """A schedule of every minute whose next tick is due."""
    schedule = await added(store, name, cron="* * * * *", job=ScheduledJob(definition="mail"))
    await clock.advance(seconds(61))
    return schedule


def firing(schedule: Schedule, *ticks: DueTick, tracks_jobs: bool = False) -> Firing:
    """The schedule fires at the tick it waits for, and waits for the one a minute later."""
    assert schedule.next_at is not None
    return Firing(
        namespace=schedule.asked.namespace,
        schedule=schedule.asked.id,
        revision=schedule.revision,
        expected=schedule.next_at,
        next_at=schedule.next_at + MINUTE,
        ticks=ticks or [fired(schedule.next_at)],
        tracks_jobs=tracks_jobs,
    )


def fired(at: datetime) -> DueTick:
    return DueTick(
        at=at, outcome=TickOutcome.FIRED, job=NewJob(definition="mail", creator="schedule:nightly")
    )


async def reread(store: Store, name: ScheduleName = NIGHTLY) -> Schedule:
    schedule = await store.schedule(name)
    assert schedule is not None
    return schedule


async def made(store: Store, name: ScheduleName = NIGHTLY) -> list[UUID]:
    return [one.tick.job for one in await store.ticks(name) if one.tick.job is not None]


async def test_a_tick_makes_its_job_and_the_schedule_moves_on(store: Store, clock: Clock) -> None:
    """S1.7, S1.65: a due tick is a job, and the next tick is waited for."""
    schedule = await due(store, clock)
    [jobs] = await store.fire([firing(schedule)])
    assert jobs is not None
    [job] = jobs
    assert (job.state, job.fresh) == (State.QUEUED, True)
    moved = await reread(store)
    assert schedule.next_at is not None
    assert (moved.next_at, moved.last_at) == (schedule.next_at + MINUTE, schedule.next_at)
    assert (moved.revision, moved.remaining) == (schedule.revision, None)
    [noted] = await store.ticks(NIGHTLY)
    assert (noted.tick.at, noted.tick.outcome) == (schedule.next_at, TickOutcome.FIRED)
    assert (noted.tick.job, noted.state) == (job.id, State.QUEUED)
    assert [one.lease.job for one in await claim(store)] == [job.id]


async def test_two_nodes_that_fire_the_same_tick_make_one_job(
    store: Store, other: Store, clock: Clock
) -> None:
    """S1.16, S1.65: whichever is second finds that the schedule has moved."""
    schedule = await due(store, clock)
    answers = await asyncio.gather(*(one.fire([firing(schedule)]) for one in (store, other) * 5))
    assert sorted(answer != [None] for answer in answers) == [False] * 9 + [True]
    assert len(await made(store)) == 1
    assert len(await claim(store, limit=10)) == 1


async def test_what_has_changed_since_it_was_read_does_not_fire(store: Store, clock: Clock) -> None:
    """S1.65: an edit, a pause and a removal are each stronger than a firing that was under way."""
    edited, paused, gone = [await due(store, clock, name) for name in ("edited", "paused", "gone")]
    await store.change_schedule(edited, edited.asked, next_at=None)
    await store.pause_schedule(paused.name)
    await store.delete_schedule(gone.name)
    assert await store.fire([firing(one) for one in (edited, paused, gone)]) == [None, None, None]
    assert await claim(store) == []


async def test_a_change_counts_for_nothing_if_a_tick_has_fired_since_it_was_made(
    store: Store, clock: Clock
) -> None:
    """S1.65: its own next tick may be the one that has fired, which would be waited for again."""
    schedule = await due(store, clock)
    await store.fire([firing(schedule)])
    moved = await reread(store)
    assert await store.change_schedule(schedule, schedule.asked, next_at=schedule.next_at) is None
    assert await reread(store) == moved


async def test_of_many_schedules_those_fire_that_can(store: Store, clock: Clock) -> None:
    schedules = [await due(store, clock, f"s{n}") for n in range(5)]
    await store.delete_schedule(schedules[2].name)
    answers = await store.fire([firing(one) for one in schedules])
    assert [answer is not None and len(answer) for answer in answers] == [1, 1, False, 1, 1]
    assert len(await claim(store, limit=10)) == 4


async def test_a_tick_on_record_makes_no_second_job_but_the_schedule_goes_on(
    store: Store, clock: Clock
) -> None:
    """A rule edited back and forth, or a clock that stepped, meets old ticks: it is not stuck on them."""
    schedule = await due(store, clock)
    await store.fire([firing(schedule)])
    moved = await reread(store)
    assert schedule.next_at is not None
    again = await store.change_schedule(moved, moved.asked, next_at=schedule.next_at)
    assert again is not None
    assert again.next_at == schedule.next_at
    assert await store.fire([firing(again)]) == [[]]
    assert len(await made(store)) == 1
    assert (await reread(store)).next_at == schedule.next_at + MINUTE


async def test_ticks_without_jobs_are_on_record_with_their_reason(store: Store, clock: Clock) -> None:
    """S1.66: what was missed or skipped can be seen."""
    schedule = await due(store, clock)
    assert schedule.next_at is not None
    at = schedule.next_at
    ticks = [
        DueTick(at=at - 9 * MINUTE, outcome=TickOutcome.MISSED, count=8, until=at - 2 * MINUTE),
        DueTick(at=at - MINUTE, outcome=TickOutcome.FAILED, problem="params/to: is missing"),
        fired(at),
    ]
    [jobs] = await store.fire([firing(schedule, *ticks)])
    assert jobs is not None
    assert len(jobs) == 1
    noted = [one.tick for one in await store.ticks(NIGHTLY)]
    assert [one.outcome for one in noted] == [TickOutcome.FIRED, TickOutcome.FAILED, TickOutcome.MISSED]
    assert noted[1].problem == "params/to: is missing"
    assert (noted[2].count, noted[2].until) == (8, at - 2 * MINUTE)


async def test_remaining_runs_are_counted_down_by_ticks_that_fire(store: Store, clock: Clock) -> None:
    """S4.29: a task that repeats a number of times."""
    schedule = await added(store, cron="* * * * *", remaining=2)
    await clock.advance(seconds(61))
    assert schedule.next_at is not None
    missed = DueTick(at=schedule.next_at - MINUTE, outcome=TickOutcome.MISSED)
    await store.fire([firing(schedule, missed, fired(schedule.next_at))])
    assert (await reread(store)).remaining == 1


async def test_jobs_of_earlier_ticks_that_have_not_ended_are_told(store: Store, clock: Clock) -> None:
    """However many ticks ago: a job that runs for hours is not forgotten after one tick without a job."""
    schedule = await due(store, clock)
    [jobs] = await store.fire([firing(schedule, tracks_jobs=True)])
    assert jobs is not None
    for _ in range(3):
        await clock.advance(MINUTE)
        [again] = await due_now(store)
        assert again.open_jobs == (jobs[0].id,)
        assert again.schedule.next_at is not None
        skipped = DueTick(at=again.schedule.next_at, outcome=TickOutcome.OVERLAPPED)
        await store.fire([firing(again.schedule, skipped, tracks_jobs=True)])
    [owned] = await claim(store)
    await settle(store, [succeeded(owned)])
    await clock.advance(MINUTE)
    [last] = await due_now(store)
    assert last.open_jobs == ()


async def test_a_run_by_hand_is_on_record_and_moves_nothing(store: Store, clock: Clock) -> None:
    schedule = await added(store)
    first = await store.trigger_schedule(NIGHTLY, NewJob(definition="mail"), revision=1, is_open=False)
    second = await store.trigger_schedule(NIGHTLY, NewJob(definition="mail"), revision=1, is_open=False)
    assert first is not None
    assert second is not None
    assert second.at > first.at, "the clock stands still, and both are on record"
    assert (await reread(store)).next_at == schedule.next_at
    noted = [one.tick for one in await store.ticks(NIGHTLY)]
    assert [one.outcome for one in noted] == [TickOutcome.BY_HAND] * 2
    assert [await state_of(store, one.job) for one in noted if one.job] == [State.QUEUED] * 2
    assert (
        await store.trigger_schedule(
            ScheduleName("x", "y"), NewJob(definition="mail"), revision=1, is_open=False
        )
        is None
    )
    assert len(await claim(store, limit=10)) == 2


async def test_a_schedule_that_is_made_anew_has_no_past(store: Store, clock: Clock) -> None:
    schedule = await due(store, clock)
    await store.fire([firing(schedule)])
    assert await store.delete_schedule(NIGHTLY) is True
    await added(store)
    assert await store.ticks(NIGHTLY) == []


async def test_old_ticks_go_and_their_jobs_stay(store: Store, clock: Clock) -> None:
    schedule = await due(store, clock)
    [jobs] = await store.fire([firing(schedule)])
    assert jobs is not None
    await clock.advance(seconds(89 * 86_400))
    await store.tidy()
    assert len(await store.ticks(NIGHTLY)) == 1
    await clock.advance(seconds(2 * 86_400))
    await store.tidy()
    assert await store.ticks(NIGHTLY) == []
    assert await state_of(store, jobs[0].id) is State.QUEUED


async def test_what_nothing_fires_and_what_fails_is_named_until_a_tick_fires(
    store: Store, clock: Clock
) -> None:
    """One that is paused needs nobody."""
    failing, full, fine, paused = [
        await due(store, clock, name) for name in ("failing", "full", "fine", "paused")
    ]
    late = {one.name.name for one in await store.troubled_schedules() if one.due_at == failing.next_at}
    assert late == {"failing"}  # the others are not late by a minute yet
    await store.pause_schedule(paused.name)
    moments = {one.name.name: one.next_at for one in (failing, full, fine)}
    outcomes = {"failing": TickOutcome.FAILED, "full": TickOutcome.FULL, "fine": TickOutcome.FIRED}
    for one in (failing, full, fine):
        at = moments[one.name.name]
        assert at is not None
        outcome = outcomes[one.name.name]
        tick = fired(at) if outcome is TickOutcome.FIRED else DueTick(at=at, outcome=outcome, problem="why")
        changed = await store.fire([replace(firing(one, tick), next_at=await store.now() + MINUTE)])
        assert changed != [None]
    troubled = await store.troubled_schedules()
    assert [(one.name.name, one.due_at, one.failed_at, one.problem) for one in troubled] == [
        ("failing", None, moments["failing"], "why"),
        ("full", None, moments["full"], "why"),
    ]
    assert len(await store.troubled_schedules(1)) == 1
    again = await reread(store, failing.name)
    await clock.advance(seconds(61))
    await store.fire([firing(again)])
    assert "failing" not in {one.name.name for one in await store.troubled_schedules() if one.failed_at}
