"""The verbs of a store about its own health; part of the storage contract. They only read."""

from datetime import timedelta
from typing import Protocol
from uuid import UUID

from tenure.core.reports.health import Checkup
from tenure.core.values.bounds import LARGEST_BATCH
from tenure.storage.mapping.findings import LooseSlots, Portion

LONG = timedelta(minutes=10)
"""How long a transaction may be open."""


class HealthStore(Protocol):
    """The verbs that find what no verb would have left so."""

    async def inspect_jobs(self, *, before: UUID | None = None, limit: int = LARGEST_BATCH) -> Portion:
        """Jobs that no verb will ever move on, among the `limit` newest by id, or newest before an id.

        Jobs that are queued without a place in line, that wait without a timer, or that are owned without a
        lease. `inspect` finds them too; this verb reads one portion, whatever the size of the database.
        """

    async def loose_slots(self, *, limit: int = 20) -> list[LooseSlots]:
        """Limits and keys under which places are taken that no job with a lease holds.

        Reads all leases and the places that are taken under limits.
        """

    async def vitals(self, *, long: timedelta = LONG) -> Checkup:
        """What the database's server, or its file and disk, look like: no table is read.

        On PostgreSQL a transaction that is open for `long` is a symptom; on SQLite its large log is.
        What this user has no right to see is said to be so, instead of being left out.
        """
