"""The verbs of the PostgreSQL store for an overview of all jobs."""

from collections.abc import Collection
from datetime import timedelta

from tenure.core.reports.failures import MOST_COUNTED, DeadGroups, Trouble
from tenure.core.reports.flow import LATELY, Flows
from tenure.core.reports.pace import HOURS_KEPT, PACE_KEPT, DetailedPace, Lengths, PaceDetail, Paces
from tenure.core.reports.reading import RunningJob
from tenure.core.values.bounds import LARGEST_FEED, LARGEST_PAGE, whole
from tenure.storage.mapping import overview
from tenure.storage.postgres.database import Database


class Overview(Database):
    """Groups of dead letters, current trouble, how fast jobs end, and how many pass through each queue."""

    async def dead_letters(self, *, limit: int = 50) -> DeadGroups:
        whole("limit", limit, 1, overview.LARGEST_GROUPS)
        found = await self._pool.run("dead_letters", limit=limit + 1, **overview.group_bounds())
        return overview.groups_from(found, limit)

    async def dead_letter_hours(self, fingerprints: Collection[str]) -> dict[str, dict[int, int]]:
        whole("fingerprints", len(fingerprints), 0, overview.LARGEST_GROUPS)
        found = await self._pool.run(
            "dead_letter_hours", fingerprints=list(fingerprints), lately=overview.DRAWN, most=MOST_COUNTED
        )
        return overview.hours_from(found)

    async def note_pace(
        self,
        *,
        waits: Lengths,
        runs: Lengths,
        detail: PaceDetail | None = None,
        hour: PaceDetail | None = None,
    ) -> bool:
        noted = await self._pool.run(
            "note_pace",
            kept=PACE_KEPT,
            hours_kept=HOURS_KEPT,
            waits=overview.written(waits),
            runs=overview.written(runs),
            detail=overview.detail_written(detail),
            hour=overview.detail_written(hour),
        )
        return bool(noted)

    async def pace_details(self, since: timedelta, *, by_hour: bool) -> list[DetailedPace]:
        found = await self._pool.run("pace_details", since=since, by_hour=by_hour)
        return [overview.detailed_from(row) for row in found]

    async def paces(self, since: timedelta) -> Paces:
        return overview.paces_from(await self._pool.run("paces", since=since))

    async def unfinished(self, namespace: str, *, most: int) -> int:
        budget = most + overview.BEHIND
        [row] = await self._pool.run("unfinished", namespace=namespace, most=most, budget=budget)
        return int(row["n"])

    async def flows(self, *, limit: int = LARGEST_FEED) -> Flows:
        whole("limit", limit, 1, LARGEST_FEED)
        found = await self._pool.run("flows", limit=limit, lately=LATELY)
        return overview.flows_from(found)

    async def longest_running(self, *, limit: int = 5) -> list[RunningJob]:
        whole("limit", limit, 1, LARGEST_PAGE)
        found = await self._pool.run("longest_running", limit=limit, most=overview.MOST_LEASES)
        return [overview.running_from(row) for row in found]

    async def trouble(self, lately: timedelta) -> Trouble:
        found = await self._pool.run(
            "trouble", lately=lately, often=overview.OFTEN, few=overview.FEW, **overview.group_bounds()
        )
        return overview.trouble_from(found)
