"""The verbs of the SQLite store that show operators the whole."""

from collections.abc import Collection
from datetime import timedelta

import apsw
import msgspec

from tenure.core.reports.failures import MOST_COUNTED, DeadGroups, Trouble
from tenure.core.reports.flow import LATELY, Flows
from tenure.core.reports.pace import HOURS_KEPT, PACE_KEPT, DetailedPace, Lengths, PaceDetail, Paces
from tenure.core.reports.reading import RunningJob
from tenure.core.values.bounds import LARGEST_FEED, LARGEST_PAGE, whole
from tenure.storage.mapping import overview
from tenure.storage.sqlite import rows
from tenure.storage.sqlite.file.clock import TransactionTime
from tenure.storage.sqlite.file.database import Database


class Overview(Database):
    """Groups of dead letters, trouble, pace, and the flow through each queue."""

    async def dead_letters(self, *, limit: int = 50) -> DeadGroups:
        whole("limit", limit, 1, overview.LARGEST_GROUPS)
        found = await self._read("dead_letters", lambda row: row, limit=limit + 1, **overview.group_bounds())
        return overview.groups_from(found, limit)

    async def dead_letter_hours(self, fingerprints: Collection[str]) -> dict[str, dict[int, int]]:
        whole("fingerprints", len(fingerprints), 0, overview.LARGEST_GROUPS)
        found = await self._read(
            "dead_letter_hours",
            lambda row: row,
            fingerprints=msgspec.json.encode(list(fingerprints)).decode(),
            lately=rows.duration(overview.DRAWN),
            most=MOST_COUNTED,
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
        kept = {"kept": rows.duration(PACE_KEPT), "hours_kept": rows.duration(HOURS_KEPT)}
        noted = {
            "waits": overview.written(waits),
            "runs": overview.written(runs),
            "detail": overview.detail_written(detail),
            "hour": overview.detail_written(hour),
        }

        def note(connection: apsw.Connection, turn: TransactionTime) -> bool:
            self._scripts.one(connection, "note_pace.forgotten", now=turn.now, **kept)
            return bool(self._scripts.one(connection, "note_pace.noted", now=turn.now, **noted))

        return await self._writer.run(note)

    async def pace_details(self, since: timedelta, *, by_hour: bool) -> list[DetailedPace]:
        return await self._read(
            "pace_details", overview.detailed_from, since=rows.duration(since), by_hour=by_hour
        )

    async def paces(self, since: timedelta) -> Paces:
        found = await self._read("paces", lambda row: row, since=rows.duration(since))
        return overview.paces_from(found)

    async def unfinished(self, namespace: str, *, most: int) -> int:
        budget = most + overview.BEHIND
        [n] = await self._read(
            "unfinished", lambda row: int(row["n"]), namespace=namespace, most=most, budget=budget
        )
        return n

    async def flows(self, *, limit: int = LARGEST_FEED) -> Flows:
        whole("limit", limit, 1, LARGEST_FEED)
        found = await self._read("flows", lambda row: row, limit=limit, lately=rows.duration(LATELY))
        return overview.flows_from(found)

    async def longest_running(self, *, limit: int = 5) -> list[RunningJob]:
        whole("limit", limit, 1, LARGEST_PAGE)
        return await self._read(
            "longest_running", overview.running_from, limit=limit, most=overview.MOST_LEASES
        )

    async def trouble(self, lately: timedelta) -> Trouble:
        found = await self._read(
            "trouble",
            lambda row: row,
            lately=rows.duration(lately),
            often=overview.OFTEN,
            few=overview.FEW,
            **overview.group_bounds(),
        )
        return overview.trouble_from(found)
