"""The verbs of the PostgreSQL store for the logs and notes of attempts."""

from collections.abc import Sequence
from uuid import UUID

from tenure.core.model.lease import Lease
from tenure.core.model.trail import Logged, LogLine, Note, Recorded, Trail
from tenure.core.values.bounds import MOST_NOTES, printable
from tenure.storage.mapping import trails as mapping
from tenure.storage.postgres import rows
from tenure.storage.postgres.database import Database


class Trails(Database):
    """Log lines and notes."""

    async def record(self, worker: str, trails: Sequence[Trail]) -> Recorded:
        printable("worker", worker, least=1)
        given = mapping.trail_rows(trails)
        columns: dict[str, object] = {**rows.trails(given), "worker": worker, "most": MOST_NOTES}
        answer = await self._pool.run("record.write", **columns)
        if len(given) == 1 and any(row["is_locked"] for row in answer):
            lock: dict[str, object] = {"job": given[0].lease.job}
            *_, answer = await self._pool.run_all(("record.lock", lock), ("record.write", columns))
        return mapping.recorded_from(given, answer)

    async def annotate(self, lease: Lease, note: Note) -> bool:
        claim = {"job": lease.job, "fence": lease.fence}
        *_, added = await self._pool.run_all(
            ("annotate.lock", claim),
            ("annotate.note", {**claim, "type": note.type, "payload": note.payload, "most": MOST_NOTES}),
        )
        return bool(added)

    async def add_lines(self, lease: Lease, lines: Sequence[LogLine]) -> bool:
        mapping.check([Trail(lease, tuple(lines))])
        *_, added = await self._pool.run_all(
            ("annotate.hold", {"job": lease.job}),
            ("annotate.lines", {"job": lease.job, "fence": lease.fence, **rows.written_lines(lines)}),
        )
        return bool(added)

    async def logs(
        self,
        job: UUID,
        *,
        fence: int | None = None,
        after: tuple[int, int] | None = None,
        limit: int = 1000,
    ) -> list[Logged]:
        found = await self._pool.run("logs", job=job, **mapping.span(fence, after, limit))
        return [mapping.logged_from(row) for row in found]

    async def last_logs(self, job: UUID, *, limit: int = 1000) -> list[Logged]:
        mapping.check_limit(limit)
        found = await self._pool.run("last_logs", job=job, limit=limit)
        return [mapping.logged_from(row) for row in reversed(found)]
