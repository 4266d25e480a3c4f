"""How a store is operated: lines, limits, definitions, workers, upkeep; part of the storage contract."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

from tenure.core.lease import Line
from tenure.core.limit import LimitUse
from tenure.core.operations import Definition, LineStatus, Pruned, Retention, Worker, WorkerStatus


class OperationsStore(Protocol):
    """The verbs for operators and workers about what jobs stand in and run by, and the upkeep."""

    async def lines(self) -> list[LineStatus]:
        """Every line with its counts by state, read from running totals: history is never counted."""

    async def depth(self, queue: str) -> int:
        """How many jobs stand in line in a queue, read from running totals."""

    async def pause(
        self, target: Line | str, *, until: datetime | None = None, by: str = "api", reason: str | None = None
    ) -> None:
        """Claim nothing from a line, or from any line of a queue, until resumed or until a time.

        Pausing again replaces the pause. A queue or line need not exist yet.
        """

    async def resume(self, target: Line | str) -> bool:
        """End a pause; answers whether there was one. A queue's pause and a line's are two."""

    async def set_limit(self, name: str, size: int) -> None:
        """Set how many jobs may run at once under each key of a limit; makes the limit if there is none."""

    async def limits(self) -> list[LimitUse]:
        """Every limit and key that jobs have named, and how many run under it."""

    async def put_definitions(
        self, definitions: Sequence[Definition], *, replace: bool = True
    ) -> list[Definition]:
        """Register definitions; answers with those that were registered before with another `spec`.

        The last registration stands; without `replace` the first one does. `override` is left as it is
        unless one is given.
        """

    async def definitions(self) -> list[Definition]:
        """Every definition that was registered, by key and version."""

    async def enlist(self, worker: Worker) -> None:
        """Introduce a worker, or bring up to date what is known of it. Only what is shown rests on it."""

    async def dismiss(self, worker: str) -> None:
        """Forget a worker that has stopped."""

    async def drain(self, worker: str) -> bool:
        """Ask a worker to claim no more: its next heartbeat tells it. False when it is unknown."""

    async def workers(self) -> list[WorkerStatus]:
        """Every worker that was enlisted and not dismissed, with the jobs it runs now."""

    async def prune(
        self, retention: Retention, *, after: UUID | None = None, limit: int = 1000, by_age: bool = False
    ) -> Pruned:
        """Remove finished jobs whose time is over, with all that belongs to them: the only verb that deletes.

        Looks at up to `limit` jobs by id from behind `after` on; the answer says where to go on. With
        `by_age` the end is where jobs are too young by the time in their ids, a day allowed for: what is kept
        is not looked at, and neither are jobs whose ids, of their caller's making, say something else. Jobs
        that somebody has locked are left for another time. So are children in the scope of `CHILDREN` whose
        parent has not finished.
        """

    async def tidy(self) -> int:
        """Upkeep that nobody sees: fold running totals, forget workers not seen for a day; rows spared."""
