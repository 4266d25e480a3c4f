"""The verbs of the PostgreSQL store for what attempts leave behind beside their outcomes."""

from collections.abc import Sequence
from uuid import UUID

from tenure.core.bounds import MOST_NOTES, printable
from tenure.core.lease import Lease
from tenure.core.trail import Logged, LogLine, Note, Recorded, Trail
from tenure.storage import trails as said
from tenure.storage.postgres import rows
from tenure.storage.postgres.pool import Pool


class Trails:
    """Log lines and notes."""

    _pool: Pool

    async def record(self, worker: str, trails: Sequence[Trail]) -> Recorded:
        printable("worker", worker, least=1)
        given = said.told(trails)
        answer = await self._pool.run("record", **rows.trails(given), worker=worker, most=MOST_NOTES)
        return said.recorded_from(given, answer)

    async def annotate(self, lease: Lease, note: Note) -> bool:
        claim = {"job": lease.job, "fence": lease.fence}
        *_, added = await self._pool.together(
            ("annotate.lock", claim),
            ("annotate.note", {**claim, "type": note.type, "payload": note.payload, "most": MOST_NOTES}),
        )
        return bool(added)

    async def add_lines(self, lease: Lease, lines: Sequence[LogLine]) -> bool:
        said.check([Trail(lease, tuple(lines))])
        *_, added = await self._pool.together(
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
        found = await self._pool.run("logs", job=job, **said.span(fence, after, limit))
        return [said.logged_from(row) for row in found]

    async def last_logs(self, job: UUID, *, limit: int = 1000) -> list[Logged]:
        said.check_limit(limit)
        found = await self._pool.run("last_logs", job=job, limit=limit)
        return [said.logged_from(row) for row in reversed(found)]
