"""Pairs of verbs that want the same schedules: two that fire, and one that fires while one changes."""

from datetime import datetime
from typing import Any

from tenure.core.model.job import NewJob
from tenure.core.schedule.recurrence import Recurrence
from tenure.core.schedule.schedule import (
    DueTick,
    Firing,
    NewSchedule,
    Schedule,
    ScheduledJob,
    TickOutcome,
)
from tests.storage.races.collision import BATCH, Collision, Ground, Pair
from tests.storage.races.requests import StoreCall
from tests.storage.verbs import seconds

MINUTE = seconds(60)


async def due_batch(ground: Ground, count: int = BATCH) -> list[Schedule]:
    """Schedules whose tick is due, with names of their own."""
    rule = Recurrence(every=MINUTE, starts_at=datetime.fromisoformat("2020-01-01T00:00:00Z"))
    mark, now = ground.chance.getrandbits(60), await ground.store.now()
    made = [
        await ground.store.add_schedule(
            NewSchedule(id=f"s{mark}-{n}", job=ScheduledJob(definition="mail"), recurrence=rule), next_at=now
        )
        for n in range(count)
    ]
    return [one for one in made if one is not None]


def fires(schedules: list[Schedule]) -> StoreCall:
    return StoreCall("fire", ([_firing(one) for one in schedules],))


def _firing(schedule: Schedule) -> Firing:
    assert schedule.next_at is not None
    job = NewJob(definition="mail")
    return Firing(
        namespace=schedule.asked.namespace,
        schedule=schedule.asked.id,
        revision=schedule.revision,
        expected=schedule.next_at,
        next_at=schedule.next_at + MINUTE,
        ticks=[DueTick(at=schedule.next_at, outcome=TickOutcome.FIRED, job=job)],
    )


async def two_that_fire(ground: Ground) -> Collision:
    """S1.16, S1.65: each tick is one job, made by one of them; none waits in a circle."""
    batch = await due_batch(ground)
    one, two = ground.shuffled(batch), ground.shuffled(batch)

    def agree(first: Any, second: Any) -> bool:
        by_name = dict(zip([it.name for it in two], second, strict=True))
        return all((jobs is None) != (by_name[it.name] is None) for it, jobs in zip(one, first, strict=True))

    async def afterwards(_one: Any, _two: Any) -> None:
        for schedule in batch:
            assert len(await ground.store.ticks(schedule.name)) == 1
            assert await ground.store.delete_schedule(schedule.name)

    return Collision(fires(one), fires(two), agree, afterwards)


async def _firing_and(ground: Ground, verb: str) -> Collision:
    """It fires before the change, or not at all: a tick on record has a job, and no job is without one."""
    [schedule] = await due_batch(ground, 1)

    def agree(one: Any, two: Any) -> bool:
        if verb == "change_schedule":  # only one of them finds the schedule as it was read
            return ([*one] == [None]) != (two is None)
        return two is not None and two is not False

    async def afterwards(one: Any, _two: Any) -> None:
        ticks = await ground.store.ticks(schedule.name)
        if verb == "delete_schedule":
            assert ticks == []
            return
        [jobs] = one
        assert [tick.tick.job for tick in ticks] == [job.id for job in jobs or ()]
        assert await ground.store.delete_schedule(schedule.name)

    change = StoreCall(verb, (schedule.name,))
    if verb == "change_schedule":
        change = StoreCall(verb, (schedule, schedule.asked), {"next_at": schedule.next_at})
    return Collision(fires([schedule]), change, agree, afterwards)


async def firing_and_pausing(ground: Ground) -> Collision:
    """S1.65: once a pause is on record, nothing fires."""
    return await _firing_and(ground, "pause_schedule")


async def firing_and_editing(ground: Ground) -> Collision:
    """S1.65: what was read before counts only for the first of them."""
    return await _firing_and(ground, "change_schedule")


async def firing_and_deleting(ground: Ground) -> Collision:
    """S1.65: no tick stays behind a schedule that is gone."""
    return await _firing_and(ground, "delete_schedule")


PAIRS: tuple[Pair, ...] = (two_that_fire, firing_and_pausing, firing_and_editing, firing_and_deleting)
