"""Somebody who makes schedules, changes them and runs them by hand, and keeps what was answered."""

from collections.abc import Awaitable, Callable
from time import monotonic
from typing import TypeVar
from uuid import UUID

from chaos.history import Outcome
from chaos.schedules.calls import ScheduleCall, Verb
from tenure.core.errors import StoreBusy, StoreError, StoreRefused
from tenure.core.schedule.schedule import KnownSchedule, NewSchedule, Schedule, ScheduleName, Tick
from tenure.engine.client.admission import Admission
from tenure.engine.client.quota import Quota
from tenure.engine.client.registry import Registry
from tenure.engine.schedules.job_maker import JobMaker
from tenure.engine.schedules.schedules import ScheduleChanged, ScheduleNotFound, Schedules, ScheduleTaken
from tenure.storage.contract.store import Store

T = TypeVar("T")
REFUSALS = (ScheduleChanged, ScheduleNotFound, ScheduleTaken, StoreBusy, StoreRefused)


class ScheduleClient:
    """Speaks to the schedules of a store; `calls` is all that was asked and answered."""

    def __init__(self, store: Store, now: Callable[[], float] = monotonic) -> None:
        """`now` is CLOCK_MONOTONIC, unless a test has another."""
        self.calls: list[ScheduleCall] = []
        self._now = now
        jobs = JobMaker(Admission(store, Registry()), Quota(store, 0))
        self._schedules = Schedules(store, jobs)

    async def create(self, new: NewSchedule) -> Schedule | None:
        """Have a schedule made; None where there is one of that name."""
        return await self._row("create", _name(new), lambda: self._schedules.create(new))

    async def edit(self, read: Schedule, changed: NewSchedule, *, recounts: bool = False) -> Schedule | None:
        """Give a schedule another rule or another job; None where it has changed since it was read."""
        return await self._row(
            "edit",
            _name(changed),
            lambda: self._schedules.edit(changed, revision=read.revision, recounts=recounts),
            recounts=recounts,
        )

    async def get(self, name: ScheduleName) -> Schedule | None:
        """The schedule as it is; None where there is none."""
        try:
            return await self._schedules.get(name)
        except ScheduleNotFound:
            return None

    async def pause(self, name: ScheduleName) -> Schedule | None:
        """Let it rest."""
        return await self._row("pause", name, lambda: self._schedules.pause(name))

    async def resume(self, name: ScheduleName, *, catch_up: bool = False) -> Schedule | None:
        """Let it go on."""
        return await self._row("resume", name, lambda: self._schedules.resume(name, catch_up=catch_up))

    async def trigger(self, name: ScheduleName) -> UUID | None:
        """Run it now."""
        tick: Tick | None = await self._asked("trigger", name, lambda: self._schedules.trigger(name))
        return tick.job if tick else None

    async def delete(self, name: ScheduleName) -> None:
        """Remove it with its ticks."""
        await self._asked("delete", name, lambda: self._schedules.delete(name))

    async def _row(
        self,
        verb: Verb,
        name: ScheduleName,
        ask: Callable[[], Awaitable[KnownSchedule]],
        *,
        recounts: bool = False,
    ) -> Schedule | None:
        answer = await self._asked(verb, name, ask, recounts=recounts)
        return answer if isinstance(answer, Schedule) else None

    async def _asked(
        self, verb: Verb, name: ScheduleName, ask: Callable[[], Awaitable[T]], *, recounts: bool = False
    ) -> T | None:
        sent_at, answer, outcome = self._now(), None, _ACKNOWLEDGED
        try:
            answer = await ask()
        except REFUSALS:
            outcome = "refused"
        except StoreError:
            outcome = "unknown"
        self.calls.append(
            ScheduleCall(
                verb=verb,
                name=name,
                sent_at=sent_at,
                answered_at=self._now(),
                outcome=outcome,
                schedule=answer if isinstance(answer, Schedule) else None,
                job=answer.job if isinstance(answer, Tick) else None,
                recounts=recounts,
            )
        )
        return answer


_ACKNOWLEDGED: Outcome = "acknowledged"


def _name(new: NewSchedule) -> ScheduleName:
    return ScheduleName(new.namespace, new.id)
