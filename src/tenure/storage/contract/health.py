"""The verbs of a store about its own health; part of the storage contract.

They find rows that no verb would have left so, and mend them. No mending verb takes a step that the table of
steps lacks, and each looks again behind the lock: what has healed by itself meanwhile is left alone.
"""

from datetime import timedelta
from typing import Protocol
from uuid import UUID

from tenure.core.model.job import JobStanding
from tenure.core.reports.health import Checkup
from tenure.core.values.bounds import LARGEST_BATCH
from tenure.storage.mapping.findings import LooseSlots, Portion, SlotsMended

LONG = timedelta(minutes=10)
"""How long a transaction may be open."""


class HealthStore(Protocol):
    """The verbs that find what no verb would have left so, and mend it."""

    async def inspect_jobs(self, *, before: UUID | None = None, limit: int = LARGEST_BATCH) -> Portion:
        """Jobs that no verb will ever move on, among the `limit` newest by id, or newest before an id.

        Jobs that are queued without a place in line, that wait without a timer, or that are owned without a
        lease. `inspect` finds them too; this verb reads one portion, whatever the size of the database.
        """

    async def loose_slots(self, *, limit: int = 20) -> list[LooseSlots]:
        """Limits and keys under which places are taken that no job with a lease holds.

        Reads all leases and the places that are taken under limits.
        """

    async def mend_place(self, job: UUID) -> JobStanding | None:
        """Put a queued job that stands in no line back at the place that its row names.

        None if there is no such job; `moved` says whether its place was missing. DataRefused if another job
        stands there.
        """

    async def mend_timer(self, job: UUID) -> JobStanding | None:
        """Give a job that waits for a time, and has no timer, a timer at that time.

        None if there is no such job; `moved` says whether its timer was missing. Timers of kinds that this
        version does not know count as timers. A job that had been given up is tried again.
        """

    async def mend_lease(self, job: UUID) -> JobStanding | None:
        """Take a job from an owner whose lease has no row, as `reap` does from one whose lease ran out.

        The actor of the step is `doctor`. None if there is no such job; `moved` says whether it was taken. A
        job that is aside is left to `put_back`. DataRefused if the database refuses the step.
        """

    async def mend_slots(self, name: str, key: str) -> SlotsMended:
        """Free the places under one key of a limit that no job holds.

        Nothing is freed while a job under the limit is owned without a lease, since a place may be its own:
        `mend_lease` comes first. It never waits for a claim or a settlement.
        """

    async def vitals(self, *, long: timedelta = LONG) -> Checkup:
        """What the database's server, or its file and disk, look like: no table is read.

        On PostgreSQL a transaction that is open for `long` is a symptom; on SQLite its large log is.
        What this user has no right to see is said to be so, instead of being left out.
        """
