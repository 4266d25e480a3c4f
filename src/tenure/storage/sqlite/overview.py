"""The verbs of the SQLite store for operators who look at the whole."""

from datetime import timedelta

from tenure.core.bounds import whole
from tenure.core.failures import DeadGroups, Trouble
from tenure.storage import overview
from tenure.storage.sqlite import rows
from tenure.storage.sqlite.database import Database


class Overview(Database):
    """Groups of dead letters, and what goes wrong."""

    async def dead_letters(self, *, limit: int = 50) -> DeadGroups:
        whole("limit", limit, 1, overview.LARGEST_GROUPS)
        found = await self._read("dead_letters", lambda row: row, limit=limit + 1, **overview.asked_groups())
        return overview.groups_from(found, limit)

    async def trouble(self, lately: timedelta) -> Trouble:
        found = await self._read(
            "trouble",
            lambda row: row,
            lately=rows.duration(lately),
            often=overview.OFTEN,
            few=overview.FEW,
            **overview.asked_groups(),
        )
        return overview.trouble_from(found)
