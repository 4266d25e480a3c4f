"""The schedules of a run and what happens to them, by a seed: edits, pauses, runs by hand, new lives."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from msgspec.structs import replace

from chaos.schedules.client import ScheduleClient
from tenure.core.schedule.backlog import Missed
from tenure.core.schedule.recurrence import Recurrence
from tenure.core.schedule.schedule import NewSchedule, Overlap, Schedule, ScheduledJob, ScheduleName

START = datetime(2020, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)
LONGEST_PAUSE = 4.0


def schedules(count: int, seed: int) -> list[NewSchedule]:
    """So many schedules of one second: each policy about missed ticks with each about overlaps, in turn."""
    random = Random(f"schedules {seed}")
    return [_new(number, random) for number in range(count)]


def _new(number: int, random: Random) -> NewSchedule:
    # Most allow overlaps: jobs that linger take a slot each.
    overlap = [*Overlap][number % 20 // 3] if number % 20 < 12 else Overlap.ALLOW
    definition = "beat" if overlap is Overlap.ALLOW else "linger"
    terms: dict[str, Any] = {}
    if number % 20 == 13:
        terms["remaining"] = random.randint(5, 40)
    if number % 20 == 14:
        terms["jitter"] = timedelta(milliseconds=900)
    rule = Recurrence(every=SECOND, starts_at=START)
    if number % 20 == 15:
        rule = Recurrence(cron="* * * * *", timezone="Europe/Berlin", starts_at=START)
    return NewSchedule(
        id=f"often-{number:03}",
        job=ScheduledJob(definition=definition),
        recurrence=rule,
        missed=[*Missed][number % 3],
        overlap=overlap,
        **terms,
    )


class Changes:
    """Changes schedules at random, one call after the other, until cancelled."""

    def __init__(self, client: ScheduleClient, asked: list[NewSchedule], random: Random) -> None:
        self._client = client
        self._asked = {ScheduleName(one.namespace, one.id): one for one in asked}
        self._random = random
        self._resting: set[asyncio.Task[None]] = set()

    async def make(self, every: float) -> None:
        """A change every so many seconds, until cancelled; pauses end some time later, come what may."""
        acts: dict[Callable[[Schedule], Awaitable[object]], float] = {
            self._edit: 40,
            self._retime: 20,
            self._pause: 15,
            self._trigger: 15,
            self._recreate: 10,
        }
        while True:
            await asyncio.sleep(every * self._random.uniform(0.5, 1.5))
            name = self._random.choice(list(self._asked))
            read = await self._client.get(name)
            if read is None:
                await self._client.create(self._asked[name])
                continue
            [act] = self._random.choices(list(acts), list(acts.values()))
            await act(read)

    async def end(self) -> None:
        """Wait for the pauses to end."""
        if self._resting:
            await asyncio.wait(self._resting)

    async def _edit(self, read: Schedule) -> None:
        """Another job by the same rule."""
        job = replace(read.asked.job, priority=self._random.randint(-5, 5))
        await self._client.edit(read, replace(read.asked, job=job))

    async def _retime(self, read: Schedule) -> None:
        """Another rule: of two or three seconds, or of one, or from another start."""
        if read.asked.recurrence.cron is not None or read.asked.jitter:
            return
        every, start = (
            self._random.choice((1, 1, 2, 3)),
            START + timedelta(milliseconds=self._random.choice((0, 0, 500))),
        )
        rule = Recurrence(every=every * SECOND, starts_at=start)
        await self._client.edit(read, replace(read.asked, recurrence=rule))

    async def _pause(self, read: Schedule) -> None:
        task = asyncio.create_task(self._rest(read.name, self._random.uniform(0.2, LONGEST_PAUSE)))
        self._resting.add(task)
        task.add_done_callback(self._resting.discard)

    async def _rest(self, name: ScheduleName, seconds: float) -> None:
        await self._client.pause(name)
        await asyncio.sleep(seconds)
        await self._client.resume(name, catch_up=self._random.random() < 0.3)

    async def _trigger(self, read: Schedule) -> None:
        await self._client.trigger(read.name)

    async def _recreate(self, read: Schedule) -> None:
        """Gone, and back a moment later."""
        await self._client.delete(read.name)
        await asyncio.sleep(self._random.choice((0.0, 0.3)))
        await self._client.create(self._asked[read.name])
