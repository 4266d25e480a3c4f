"""The verbs of the SQLite store about its own health."""

import asyncio
from datetime import timedelta
from uuid import UUID

from tenure.core.reports.health import Checkup
from tenure.core.values.bounds import LARGEST_BATCH, whole
from tenure.storage.contract.health import LONG
from tenure.storage.mapping.findings import LooseSlots, Portion, loose_slots_from, portion_from
from tenure.storage.mapping.paging import LAST
from tenure.storage.sqlite.file.database import Database
from tenure.storage.sqlite.file.vitals import examine_file


class Inspection(Database):
    """Jobs that nothing moves on, and places that nobody frees."""

    async def inspect_jobs(self, *, before: UUID | None = None, limit: int = LARGEST_BATCH) -> Portion:
        whole("limit", limit, 1, LARGEST_BATCH)
        found = await self._read("inspect_jobs", lambda row: row, before=str(before or LAST), limit=limit)
        return portion_from(found, limit)

    async def loose_slots(self, *, limit: int = 20) -> list[LooseSlots]:
        whole("limit", limit, 1, LARGEST_BATCH)
        return loose_slots_from(await self._read("loose_slots", lambda row: row, limit=limit))

    async def vitals(self, *, long: timedelta = LONG) -> Checkup:  # noqa: ARG002
        [sizes] = await self._read("vitals", lambda row: row)
        return await asyncio.to_thread(examine_file, self._path, **sizes)
