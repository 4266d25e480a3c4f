"""The verbs of the PostgreSQL store about its own health."""

from datetime import timedelta
from uuid import UUID

from tenure.core.reports.health import Checkup
from tenure.core.values.bounds import LARGEST_BATCH, whole
from tenure.storage.contract.health import LONG
from tenure.storage.mapping.findings import LooseSlots, Portion, loose_slots_from, portion_from
from tenure.storage.mapping.paging import LAST
from tenure.storage.postgres.database import Database
from tenure.storage.postgres.vitals import HOT_TABLES, vitals_from


class Inspection(Database):
    """Jobs that nothing moves on, and places that nobody frees."""

    async def inspect_jobs(self, *, before: UUID | None = None, limit: int = LARGEST_BATCH) -> Portion:
        whole("limit", limit, 1, LARGEST_BATCH)
        found = await self._pool.run("inspect_jobs", before=before or LAST, limit=limit)
        return portion_from(found, limit)

    async def loose_slots(self, *, limit: int = 20) -> list[LooseSlots]:
        whole("limit", limit, 1, LARGEST_BATCH)
        return loose_slots_from(await self._pool.survey("loose_slots", limit=limit))

    async def vitals(self, *, long: timedelta = LONG) -> Checkup:
        [server] = await self._pool.run("vitals.server")
        oldest = await self._pool.run("vitals.oldest", long=long)
        return vitals_from(server, oldest, await self._pool.run("vitals.tables", tables=HOT_TABLES))
