"""Schedules on record: what is kept, changed, paused and removed, and by which conditions."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tenure.core.schedule.backlog import Gap, Missed
from tenure.core.schedule.recurrence import Recurrence
from tenure.core.schedule.schedule import (
    DueSchedule,
    DueTick,
    Firing,
    NewSchedule,
    Overlap,
    Schedule,
    ScheduledJob,
    ScheduleName,
    Source,
    TickOutcome,
)
from tenure.core.values.documents import Document
from tenure.storage.contract.store import Store
from tests.storage.clock import Clock
from tests.storage.verbs import seconds

START = datetime(2020, 1, 1, tzinfo=UTC)
NIGHTLY = ScheduleName("default", "nightly")


def asked(name: str = "nightly", *, cron: str = "0 3 * * *", **terms: Any) -> NewSchedule:
    recurrence = Recurrence(cron=cron, timezone="Europe/Berlin", starts_at=START)
    return NewSchedule(
        id=name, **{"job": ScheduledJob(definition="report"), "recurrence": recurrence, **terms}
    )


async def due_now(store: Store) -> list[DueSchedule]:
    return [one for one in await store.due_schedules() if isinstance(one, DueSchedule)]


async def added(store: Store, name: str = "nightly", **terms: Any) -> Schedule:
    new = asked(name, **terms)
    schedule = await store.add_schedule(new, next_at=new.recurrence.next_after(await store.now()))
    assert schedule is not None
    return schedule


async def test_a_schedule_is_kept_as_it_was_asked_for(store: Store) -> None:
    """S1.45, S1.64: definition, expression, zone, params, priority and the rest."""
    new = NewSchedule(
        id="weekly",
        namespace="acme",
        job=ScheduledJob(
            definition="report",
            version=3,
            params=Document('{"to":"ada"}'),
            queue="slow",
            priority=7,
            tags=("a", "b"),
            max_attempts=2,
            timeout=timedelta(minutes=5),
        ),
        recurrence=Recurrence(
            every=timedelta(hours=1),
            timezone="America/New_York",
            starts_at=START,
            ends_at=datetime(2999, 1, 1, tzinfo=UTC),
        ),
        jitter=timedelta(seconds=30),
        remaining=9,
        missed=Missed.ALL,
        overlap=Overlap.QUEUE,
        source=Source.CODE,
        creator="key-1",
    )
    next_at = new.recurrence.next_after(await store.now())
    schedule = await store.add_schedule(new, next_at=next_at)
    assert schedule is not None
    assert (schedule.asked, schedule.next_at, schedule.last_at, schedule.revision) == (new, next_at, None, 1)
    assert schedule.remaining == 9
    assert await store.schedule(ScheduleName("acme", "weekly")) == schedule
    assert await store.schedule(ScheduleName("default", "weekly")) is None


async def test_a_name_that_is_taken_stays_what_it_is(store: Store) -> None:
    first = await added(store)
    assert await store.add_schedule(asked(cron="@hourly"), next_at=START) is None
    assert await store.schedule(NIGHTLY) == first


async def test_schedules_are_listed_by_name_page_by_page(store: Store) -> None:
    for namespace, name in (("default", "b"), ("acme", "z"), ("default", "a"), ("default", "c")):
        await added(store, name, namespace=namespace, job=ScheduledJob(definition=f"job-{name}"))
    everything = await store.schedules()
    assert [one.name for one in everything] == [("acme", "z"), *(("default", name) for name in "abc")]
    page = await store.schedules(namespace="default", limit=2)
    assert [one.name.name for one in page] == ["a", "b"]
    rest = await store.schedules(namespace="default", after=page[-1].name, limit=2)
    assert [one.name.name for one in rest] == ["c"]
    assert [one.name.name for one in await store.schedules(definition="job-z")] == ["z"]


async def test_those_that_fire_next_come_first_without_the_paused(store: Store) -> None:
    await added(store, "noon", cron="0 12 * * *")
    await added(store, "dawn", cron="0 5 * * *")
    await added(store, "rests", cron="* * * * *", is_paused=True)
    soonest = await store.next_schedules(limit=5)
    by_time = sorted(soonest, key=lambda one: one.next_at or START)
    assert list(soonest) == by_time
    assert {one.name.name for one in soonest} == {"noon", "dawn"}
    assert await store.next_schedules(limit=1) == by_time[:1]


async def test_only_the_revision_that_was_read_can_be_changed(store: Store) -> None:
    first = await added(store)
    changed = asked(cron="@hourly")
    next_at = changed.recurrence.next_after(await store.now())
    second = await store.change_schedule(first, changed, next_at=next_at)
    assert second is not None
    assert (second.asked, second.revision, second.next_at) == (changed, 2, next_at)
    assert await store.change_schedule(first, first.asked, next_at=first.next_at) is None
    assert await store.change_schedule(first, asked("other"), next_at=None) is None
    assert await store.schedule(NIGHTLY) == second


async def test_a_change_keeps_a_tick_that_is_due(store: Store, clock: Clock) -> None:
    """An edit, or a deploy, between a tick and its firing loses nothing."""
    first = await added(store, cron="* * * * *")
    await clock.advance(seconds(70))
    changed = asked(cron="@hourly")
    second = await store.change_schedule(
        first, changed, next_at=changed.recurrence.next_after(await store.now())
    )
    assert second is not None
    assert second.next_at == first.next_at
    assert await due_now(store) == [DueSchedule(second, await store.now(), ())]


async def test_a_paused_schedule_is_never_due_and_goes_on_when_resumed(store: Store, clock: Clock) -> None:
    await added(store, cron="* * * * *")
    paused = await store.pause_schedule(NIGHTLY, by="ada", reason="holidays")
    assert isinstance(paused, Schedule)
    assert (paused.paused_by, paused.reason, paused.revision) == ("ada", "holidays", 1)
    await clock.advance(seconds(200))
    assert await store.due_schedules() == []
    assert (await store.outlook([])).next_tick is None

    assert paused.next_at is not None
    gap = Gap(paused.next_at, paused.next_at + seconds(120), 3)
    resumed = await store.resume_schedule(paused, next_at=paused.next_at + seconds(180), missed=gap)
    assert resumed is not None
    assert (resumed.paused_at, resumed.paused_by, resumed.reason) == (None, None, None)
    [noted] = await store.ticks(NIGHTLY)
    assert (noted.tick.outcome, noted.tick.at, noted.tick.until) == (TickOutcome.MISSED, gap.first, gap.last)
    assert noted.tick.count == 3
    assert await store.resume_schedule(paused, next_at=None) is None, "it was resumed already"


async def test_pausing_what_is_not_there_says_so(store: Store) -> None:
    assert await store.pause_schedule(NIGHTLY) is None
    assert await store.delete_schedule(NIGHTLY) is False
    assert await store.ticks(NIGHTLY) == []


async def test_the_next_tick_is_in_the_outlook(store: Store) -> None:
    """An idle worker sleeps until then, and asks nothing else."""
    assert (await store.outlook([])).next_tick is None
    later = await added(store, cron="0 3 * * *")
    sooner = await added(store, "often", cron="* * * * *")
    assert later.next_at is not None
    assert (await store.outlook([])).next_tick == sooner.next_at
    await store.delete_schedule(sooner.name)
    assert (await store.outlook([])).next_tick == later.next_at


async def test_a_schedule_begun_paused_waits(store: Store) -> None:
    schedule = await added(store, is_paused=True)
    assert schedule.paused_at is not None
    assert schedule.paused_by == "api"


@pytest.mark.parametrize("limit", [0, 201])
async def test_pages_have_bounds(store: Store, limit: int) -> None:
    with pytest.raises(ValueError, match="limit"):
        await store.schedules(limit=limit)
    with pytest.raises(ValueError, match="limit"):
        await store.ticks(NIGHTLY, limit=limit)


async def test_only_the_repetition_of_a_task_is_aborted_and_only_once(store: Store, clock: Clock) -> None:
    """Neither a pause nor a firing that was decided before brings it back, or makes a job."""
    schedule = await added(store, cron="* * * * *", source=Source.TASK)
    await added(store, "other", cron="* * * * *")
    await clock.advance(seconds(61))
    assert schedule.next_at is not None
    late = Firing(
        namespace="default",
        schedule="nightly",
        revision=schedule.revision,
        expected=schedule.next_at,
        next_at=schedule.next_at + seconds(60),
        ticks=[DueTick(at=schedule.next_at, outcome=TickOutcome.MISSED)],
    )
    aborted = await store.abort_schedule(NIGHTLY, by="ada")
    assert isinstance(aborted, Schedule)
    assert (aborted.is_aborted, aborted.next_at, aborted.paused_by) == (True, None, "ada")
    assert await store.abort_schedule(NIGHTLY, by="bob") is None
    assert await store.abort_schedule(ScheduleName("default", "other")) is None
    assert await store.abort_schedule(ScheduleName("acme", "nightly")) is None
    assert await store.pause_schedule(NIGHTLY, by="bob") is None
    assert await store.fire([late]) == [None]
    assert await store.schedule(NIGHTLY) == aborted
    assert [one.schedule.asked.id for one in await due_now(store)] == ["other"]
