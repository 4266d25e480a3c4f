"""How a store is operated: lines, limits, definitions, workers, upkeep; part of the storage contract."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from tenure.core.model.lease import Line
from tenure.core.model.limit import LimitUse
from tenure.core.reports.operations import Definition, LineStatus, WorkerInfo, WorkerStatus


class OperationsStore(Protocol):
    """The verbs for operators and workers about lines, limits, definitions and workers, and the upkeep."""

    async def lines(self) -> list[LineStatus]:
        """Every line with its counts by state, read from running totals: history is never counted."""

    async def depth(self, queue: str) -> int:
        """How many jobs of a queue are queued, read from running totals."""

    async def pause(
        self, target: Line | str, *, until: datetime | None = None, by: str = "api", reason: str | None = None
    ) -> None:
        """Claim nothing from a line, or from any line of a queue, until resumed or until a time.

        Pausing again replaces the pause. A queue or line need not exist yet.
        """

    async def resume(self, target: Line | str) -> bool:
        """End a pause; returns whether there was one. The pauses of a queue and of a line are separate."""

    async def set_limit(self, name: str, size: int) -> None:
        """Set how many jobs may run at once under each key of a limit; creates the limit if needed."""

    async def limits(self) -> list[LimitUse]:
        """Every limit and key that jobs have named, and how many run under it."""

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

    async def tidy(self) -> int:
        """Invisible upkeep: fold running totals, forget workers not seen for a day; returns rows saved."""
