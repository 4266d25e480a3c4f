"""Schedules and their ticks; part of the storage contract."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Protocol

from tenure.core.model.job import Enqueued, NewJob
from tenure.core.schedule.backlog import Gap
from tenure.core.schedule.schedule import (
    DueSchedule,
    Firing,
    KnownSchedule,
    NewSchedule,
    Schedule,
    ScheduleName,
    Tick,
    TickOnRecord,
    TickPlace,
    TroubledSchedule,
    UnreadableSchedule,
)


class ScheduleStore(Protocol):
    """The verbs about schedules. Callers compute ticks; only the store's clock says whether one is due.

    A schedule that this version cannot read is answered as such. It can be listed, paused and deleted.
    """

    async def add_schedule(
        self, new: NewSchedule, *, next_at: datetime | None, by: str = "api"
    ) -> Schedule | None:
        """Record a schedule that waits for a tick; None if one of that name exists, which stays as it is."""

    async def change_schedule(
        self,
        read: Schedule,
        changed: NewSchedule,
        *,
        next_at: datetime | None,
        recounts: bool = False,
        seen_at: datetime | None = None,
        missed: Gap | None = None,
    ) -> Schedule | None:
        """Replace what a schedule was asked for; None if it has changed or fired since it was read.

        A tick that is due stays due: it fires, or is noted, and only then the new rule goes on. The number of
        runs that are left is set anew only if the change `recounts`. Of a paused schedule, ticks that passed
        are noted as `missed`; if it has some that passed up to `seen_at`, by default now, and the gap does
        not begin with the first of them, nothing is changed: None.
        """

    async def schedule(self, name: ScheduleName) -> KnownSchedule | None:
        """One schedule, as last committed."""

    async def schedules(
        self,
        *,
        namespace: str | None = None,
        definition: str | None = None,
        after: ScheduleName | None = None,
        limit: int = 50,
    ) -> list[KnownSchedule]:
        """Schedules by namespace and name, from behind `after` on; of one namespace, or of all."""

    async def next_schedules(self, *, limit: int = 5) -> list[KnownSchedule]:
        """The schedules that fire next, the first one first; none that is paused."""

    async def repetition(self, task: str, *, namespace: str | None = None) -> KnownSchedule | None:
        """The repetition that has a task's id, in a namespace or in any."""

    async def repetitions(self, namespace: str, *, most: int) -> int:
        """How many tasks of a namespace go on repeating, counted to a bound."""

    async def announce_schedule(self, name: ScheduleName, *, worker: str) -> None:
        """Note that a worker has a schedule in its code; see `troubled_schedules`."""

    async def delete_schedule(self, name: ScheduleName) -> bool:
        """Remove a schedule and its ticks; returns whether there was one. The jobs that it made stay."""

    async def pause_schedule(
        self, name: ScheduleName, *, by: str = "api", reason: str | None = None
    ) -> KnownSchedule | None:
        """Let a schedule fire no more until it is resumed; None if there is none of that name.

        A task that has ended its repetition stays as it is, and is not answered either.
        """

    async def resume_schedule(
        self, read: Schedule, *, next_at: datetime | None, missed: Gap | None = None
    ) -> Schedule | None:
        """Let a paused schedule go on with a tick, and note what passed; None if it has changed since."""

    async def abort_schedule(self, name: ScheduleName, *, by: str = "api") -> KnownSchedule | None:
        """End the repetition of a task for good; None if there is none of that name, or it has ended."""

    async def due_schedules(self, limit: int = 100) -> list[DueSchedule | UnreadableSchedule]:
        """Schedules whose tick is due, the oldest first, with unfinished jobs if they ask about those.

        One that cannot be read is answered once, and left alone from then on, here and in `outlook`, until it
        is edited. While another process fires, those may be left out that are due for less than two seconds.
        """

    async def fire(self, firings: Sequence[Firing]) -> list[list[Enqueued] | None]:
        """Record ticks and their jobs, and move each schedule to its next tick, in one transaction.

        By schedule: the jobs made, or None if it is no longer as it was read, and nothing was done. A tick
        that is on record already makes no job. Where runs are counted, jobs that were made are.
        Raises StoreError if a job cannot be recorded: nothing was written.
        """

    async def trigger_schedule(
        self, name: ScheduleName, job: NewJob, *, revision: int, is_open: bool
    ) -> Tick | None:
        """Make a job by hand and note it at this moment; None if there is no schedule of that revision.

        The schedule's own ticks stay as they are, and so does one at this very moment.
        """

    async def troubled_schedules(self, limit: int = 20) -> list[TroubledSchedule]:
        """Schedules that are due for over a minute, the oldest first, then those whose last tick failed.

        A tick that found no room counts as failed. Last, while a worker is alive, those from code that no
        live worker has announced. At most so many of each kind; none that is paused.
        """

    async def ticks(
        self, name: ScheduleName, *, before: TickPlace | None = None, limit: int = 50
    ) -> list[TickOnRecord]:
        """The ticks of a schedule, newest first, with the states and times of their jobs."""

    async def recent_ticks(
        self, names: Collection[ScheduleName], *, limit: int = 30
    ) -> dict[ScheduleName, list[TickOnRecord]]:
        """The last ticks of at most 200 schedules, newest first; one without a tick is left out."""
