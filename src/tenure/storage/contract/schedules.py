"""Schedules and their ticks; part of the storage contract."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from tenure.core.model.job import Enqueued, NewJob
from tenure.core.schedule.backlog import Gap
from tenure.core.schedule.schedule import (
    DueSchedule,
    Firing,
    NewSchedule,
    Schedule,
    ScheduleName,
    Tick,
    TickOnRecord,
    TroubledSchedule,
    UnreadableSchedule,
)


class ScheduleStore(Protocol):
    """The verbs about schedules. Callers compute ticks; only the store's clock says whether one is due."""

    async def add_schedule(
        self, new: NewSchedule, *, next_at: datetime | None, by: str = "api"
    ) -> Schedule | None:
        """Record a schedule that waits for a tick; None if one of that name exists, which stays as it is."""

    async def change_schedule(
        self, read: Schedule, changed: NewSchedule, *, next_at: datetime | None, recounts: bool = False
    ) -> Schedule | None:
        """Replace what a schedule was asked for; None if it has changed or fired since it was read.

        A tick that is due stays due: it fires, or is noted, and only then the new rule goes on. The number of
        runs that are left is set anew only if the change `recounts`.
        """

    async def schedule(self, name: ScheduleName) -> Schedule | None:
        """One schedule, as last committed."""

    async def schedules(
        self,
        *,
        namespace: str | None = None,
        definition: str | None = None,
        after: ScheduleName | None = None,
        limit: int = 50,
    ) -> list[Schedule]:
        """Schedules by namespace and name, from behind `after` on; of one namespace, or of all."""

    async def delete_schedule(self, name: ScheduleName) -> bool:
        """Remove a schedule and its ticks; returns whether there was one. The jobs that it made stay."""

    async def pause_schedule(
        self, name: ScheduleName, *, by: str = "api", reason: str | None = None
    ) -> Schedule | None:
        """Let a schedule fire no more until it is resumed; None if there is none of that name.

        A task that has ended its repetition stays as it is, and is not answered either.
        """

    async def resume_schedule(
        self, read: Schedule, *, next_at: datetime | None, missed: Gap | None = None
    ) -> Schedule | None:
        """Let a paused schedule go on with a tick, and note what passed; None if it has changed since."""

    async def abort_schedule(self, name: ScheduleName, *, by: str = "api") -> Schedule | None:
        """End the repetition of a task for good; None if there is none of that name, or it has ended."""

    async def due_schedules(self, limit: int = 100) -> list[DueSchedule | UnreadableSchedule]:
        """Schedules whose tick is due, the oldest first, with unfinished jobs if they ask about those."""

    async def fire(self, firings: Sequence[Firing]) -> list[list[Enqueued] | None]:
        """Record ticks and their jobs, and move each schedule to its next tick, in one transaction.

        By schedule: the jobs made, or None if it is no longer as it was read, and nothing was done. A tick
        that is on record already makes no job. Raises StoreError if a job cannot be recorded: nothing was
        written.
        """

    async def trigger_schedule(self, name: ScheduleName, job: NewJob, *, is_open: bool) -> Tick | None:
        """Make a job by hand and note a tick for it at this moment; None if there is no such schedule.

        The schedule's own ticks stay as they are. The job must have an id.
        """

    async def troubled_schedules(self, limit: int = 20) -> list[TroubledSchedule]:
        """Schedules that are due for over a minute, the oldest first, then those whose last tick failed.

        A tick that found no room counts as failed. At most so many of each kind; none that is paused.
        """

    async def ticks(
        self, name: ScheduleName, *, before: datetime | None = None, limit: int = 50
    ) -> list[TickOnRecord]:
        """The ticks of a schedule, newest first, with the states of their jobs."""
