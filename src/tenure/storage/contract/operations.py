"""How a store is operated: lines, limits, definitions, workers, upkeep; part of the storage contract."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from tenure.core.model.lease import Line
from tenure.core.model.limit import LimitPage, LimitUse
from tenure.core.reports.operations import (
    Definition,
    LineStatus,
    Pause,
    PauseScope,
    WorkerInfo,
    WorkerStatus,
)
from tenure.core.reports.restores import ClockReset, Resumed, WorkersSeen


class OperationsStore(Protocol):
    """The verbs for operators and workers about lines, limits, definitions and workers, and the upkeep."""

    async def lines(self) -> list[LineStatus]:
        """Every line that has or had jobs, is paused by its name or is served by a live worker.

        With its counts by state, read from running totals: history is never counted.
        """

    async def depth(self, queue: str) -> int:
        """How many jobs of a queue are queued, read from running totals."""

    async def pause(
        self,
        target: PauseScope | Line | str,
        *,
        until: datetime | None = None,
        by: str = "api",
        reason: str | None = None,
    ) -> None:
        """Claim nothing from a line, from any line of a queue or in a scope, until resumed or until a time.

        Pausing again replaces the pause. A queue or line need not exist yet: new ones in the scope are paused
        as well.
        """

    async def resume(self, target: PauseScope | Line | str) -> bool:
        """End the pause of exactly this scope; returns whether there was one.

        Others that hold the same lines stay: a line is claimed from when none is left.
        """

    async def pauses(self) -> list[Pause]:
        """The pauses in force, by queue, definition and version; those of any queue come first."""

    async def set_limit(self, name: str, size: int, *, create: bool = True) -> bool:
        """Set how many jobs may run at once under each key of a limit; returns whether there is such a limit.

        With `create` it is made if needed. If more jobs run than a smaller size allows, they go on, and no
        other starts until enough have ended.
        """

    async def limits(self) -> list[LimitUse]:
        """Every limit and key that jobs have named, and how many run under it.

        A limit that was set and that no job has named is listed with an empty key.
        """

    async def limit_page(self, *, after: tuple[str, int] | None = None, limit: int = 50) -> LimitPage:
        """The same in parts, behind a place; at most 200. Behind an unknown key comes the next limit."""

    async def put_definitions(
        self, definitions: Sequence[Definition], *, replace: bool = True
    ) -> list[Definition]:
        """Register definitions; returns those that were registered before with another `spec`.

        The last registration counts; without `replace` the first one does. `override` is left as it is
        unless one is given.
        """

    async def definitions(self) -> list[Definition]:
        """Every definition that was registered, by key and version."""

    async def enlist(self, worker: WorkerInfo) -> None:
        """Register a worker, or update its registration. It is for display only."""

    async def dismiss(self, worker: str) -> None:
        """Forget a worker that has stopped."""

    async def drain(self, worker: str) -> bool:
        """Ask a worker to claim no more: it learns so from its next heartbeat. False if it is unknown."""

    async def workers(self) -> list[WorkerStatus]:
        """Every worker that was enlisted and not dismissed, with the number of jobs it runs now."""

    async def resume_after_restore(self, *, forced: bool = False) -> Resumed | WorkersSeen:
        """Let a database that was restored from a backup go on; without a restore it is safe, but of no use.

        What was accepted, done and given out after the backup is lost: so all leases are ended, fences,
        places and marks are lifted above any that may have been given out, and readers of the feed that have
        seen what is lost get PositionGone. The store gets a new id. Nothing is done while a worker was seen
        within WORKER_ALIVE, unless `forced`: its row may have come with the backup. Nobody writes meanwhile,
        and what comes afterwards counts on from the new numbers.
        """

    async def reset_clock(self, *, forced: bool = False) -> ClockReset | WorkersSeen | None:
        """Set a store's clock that is ahead of the machine's back to it; None where the server has the clock.

        All leases are ended. Waits that began while the clock was ahead are as much shorter, and schedules go
        on from now; a tick that is on record does not fire again. Nothing is done while a worker was seen
        within WORKER_ALIVE, unless `forced`: while the clock stands still, a worker that is gone seems new.
        """

    async def tidy(self) -> int:
        """Invisible upkeep: fold running totals, forget workers not seen for a day; returns rows saved.

        Ticks and ended repetitions go after 90 days, and limits of schedules that are gone with their lines,
        once no job is left in those. Deliveries to webhooks go 7 days after they were delivered, 30 after
        they were given up, and with their webhook.
        """
