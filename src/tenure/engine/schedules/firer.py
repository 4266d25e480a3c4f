"""Lets schedules fire: reads those that are due, decides about their ticks, and records the jobs.

Any number of nodes may do this at once. What was decided counts only if the schedule is still as it was read;
the store checks that in the transaction that records ticks and jobs.
"""

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import TypeGuard

from msgspec.structs import replace

from tenure.core.errors import DataRefused, InvalidInput, NoRoom, StoreBusy, StoreRefused
from tenure.core.model.job import Enqueued, NewJob
from tenure.core.model.states import State
from tenure.core.schedule.backlog import Gap, due
from tenure.core.schedule.schedule import (
    DueSchedule,
    DueTick,
    Firing,
    NewSchedule,
    Overlap,
    ScheduleName,
    TickOutcome,
    UnreadableSchedule,
)
from tenure.core.signals import Announce, ScheduleLeftAlone, ScheduleTicked
from tenure.engine.schedules.job_maker import JobMaker, JobRoom
from tenure.storage.contract.store import Store

AT_ONCE = 100
"""How many schedules fire in one transaction, at most."""


class Firer:
    """Fires what is due."""

    def __init__(self, store: Store, jobs: JobMaker, on_signal: Announce) -> None:
        self._store = store
        self._jobs = jobs
        self._on_signal = on_signal

    async def fire_due(self) -> bool:
        """Fire what is due, up to a bound; returns whether any schedule moved."""
        found = await self._store.due_schedules(AT_ONCE)
        if not found:
            return False
        readable = [one for one in found if self._is_readable(one)]
        if not readable:
            return False
        read_at, began = readable[0].now, time.monotonic()
        room = self._jobs.quota.room()
        firings = [firing for one in readable if (firing := await self._decide_safely(one, room)) is not None]
        if not firings:
            return False
        return await self._fire(firings, lambda: read_at + timedelta(seconds=time.monotonic() - began))

    def _is_readable(self, one: DueSchedule | UnreadableSchedule) -> TypeGuard[DueSchedule]:
        """Whether this process can fire it; what it cannot read the store does not answer with again."""
        if isinstance(one, UnreadableSchedule):
            self._on_signal(ScheduleLeftAlone(one.name, one.problem))
            return False
        return True

    async def _decide_safely(self, one: DueSchedule, room: JobRoom) -> Firing | None:
        """What a schedule does now; None if it has to wait. Whatever is wrong with it keeps no other."""
        await asyncio.sleep(0)  # to find ticks takes a while, and heartbeats must not wait for all of them
        try:
            return await self._decide(one, room)
        except StoreBusy:
            return None
        except StoreRefused as error:
            problem = f"the database refused to cancel the run before it: {error}"
            return _refused(one, problem)

    async def _decide(self, one: DueSchedule, room: JobRoom) -> Firing:
        schedule, asked = one.schedule, one.schedule.asked
        expected = schedule.next_at or one.now
        judged = due(asked.recurrence, expected, one.now, asked.missed)
        ticks = [] if judged.gap is None else [_missed(judged.gap)]
        left, next_at = schedule.remaining, judged.next_at
        for tick, is_overlapped in _with_overlap(asked, judged.fires, has_open=bool(one.open_jobs)):
            if left == 0:
                # It ends with its last run, unless that was on record already: then this tick is due.
                next_at = tick
                break
            noted = await self._tick(asked, tick, judged.next_at, is_overlapped, room)
            ticks.append(noted)
            left = None if left is None else left - (noted.outcome is TickOutcome.FIRED)
        fires = any(tick.outcome is TickOutcome.FIRED for tick in ticks)
        if asked.overlap is Overlap.CANCEL and fires and one.open_jobs:
            # Before the tick is recorded: if this process dies here, another one cancels again and fires.
            await self._store.cancel(one.open_jobs, actor=f"schedule:{asked.id}")
        return Firing(
            namespace=asked.namespace,
            schedule=asked.id,
            revision=schedule.revision,
            expected=expected,
            next_at=next_at,
            ticks=ticks,
            tracks_jobs=asked.overlap is not Overlap.ALLOW,
        )

    async def _tick(
        self, asked: NewSchedule, at: datetime, following: datetime | None, is_overlapped: bool, room: JobRoom
    ) -> DueTick:
        if is_overlapped:
            return DueTick(at=at, outcome=TickOutcome.OVERLAPPED)
        try:
            job = await self._jobs.make(asked, at, following, room=room)
        except NoRoom as error:
            return DueTick(at=at, outcome=TickOutcome.FULL, problem=str(error))
        except InvalidInput as error:
            return DueTick(at=at, outcome=TickOutcome.FAILED, problem=str(error))
        return DueTick(at=at, outcome=TickOutcome.FIRED, job=job)

    async def _fire(self, firings: Sequence[Firing], now: Callable[[], datetime]) -> bool:
        try:
            answers = await self._store.fire(firings)
        except DataRefused as error:
            # One of them must not keep the others: they fire one by one, and the bad one is noted.
            if len(firings) == 1:
                answers = await self._store.fire([_failed(firings[0], str(error))])
            else:
                return any([await self._fire([one], now) for one in firings])
        moved = [one for one, answer in zip(firings, answers, strict=True) if answer is not None]
        self._jobs.quota.count(_made(firings, answers))
        for firing in moved:
            if firing.ticks:
                name = ScheduleName(firing.namespace, firing.schedule)
                self._on_signal(ScheduleTicked(name, tuple(firing.ticks), now()))
        return bool(moved)


def _with_overlap(
    asked: NewSchedule, fires: Sequence[datetime], *, has_open: bool
) -> Iterator[tuple[datetime, bool]]:
    """The ticks that are to fire, and whether each meets a job that has not ended.

    Under `skip` the first one fires if nothing runs; under `cancel` the last one, since it ends the others.
    """
    for place, tick in enumerate(fires):
        match asked.overlap:
            case Overlap.SKIP:
                yield tick, has_open or place > 0
            case Overlap.CANCEL:
                yield tick, place < len(fires) - 1
            case _:
                yield tick, False


def _made(
    firings: Sequence[Firing], answers: Sequence[Sequence[Enqueued] | None]
) -> Iterator[tuple[NewJob, State]]:
    """The jobs that were made, each with its state; all of a schedule are alike where they count."""
    for firing, answer in zip(firings, answers, strict=True):
        like = next((tick.job for tick in firing.ticks if tick.job is not None), None)
        if like is not None:
            yield from ((like, one.state) for one in answer or ())


def _missed(gap: Gap) -> DueTick:
    until = None if gap.last == gap.first else gap.last
    return DueTick(at=gap.first, outcome=TickOutcome.MISSED, count=gap.count, until=until)


def _refused(one: DueSchedule, problem: str) -> Firing:
    """The tick is noted as failed, and the schedule goes on."""
    asked, expected = one.schedule.asked, one.schedule.next_at or one.now
    return Firing(
        namespace=asked.namespace,
        schedule=asked.id,
        revision=one.schedule.revision,
        expected=expected,
        next_at=asked.recurrence.next_after(max(expected, one.now)),
        ticks=[DueTick(at=expected, outcome=TickOutcome.FAILED, problem=problem)],
        tracks_jobs=asked.overlap is not Overlap.ALLOW,
    )


def _failed(firing: Firing, problem: str) -> Firing:
    ticks = [
        DueTick(at=tick.at, outcome=TickOutcome.FAILED, problem=problem) if tick.job else tick
        for tick in firing.ticks
    ]
    return replace(firing, ticks=ticks)
