"""The verbs of the SQLite store for what attempts leave behind beside their outcomes."""

from collections.abc import Sequence
from uuid import UUID

from tenure.core.bounds import MOST_NOTES, printable
from tenure.core.lease import Lease
from tenure.core.trail import Logged, LogLine, Note, Recorded, Trail
from tenure.storage import trails as said
from tenure.storage.sqlite import rows
from tenure.storage.sqlite.database import Database


class Trails(Database):
    """Log lines and notes."""

    async def record(self, worker: str, trails: Sequence[Trail]) -> Recorded:
        printable("worker", worker, least=1)
        given = said.told(trails)
        answer = await self._run("record", rows.trails(given), worker=worker, most=MOST_NOTES)
        return said.recorded_from(given, answer)

    async def annotate(self, lease: Lease, note: Note) -> bool:
        return bool(
            await self._run(
                "annotate",
                job=str(lease.job),
                fence=lease.fence,
                type=note.type,
                payload=note.payload,
                most=MOST_NOTES,
            )
        )

    async def add_lines(self, lease: Lease, lines: Sequence[LogLine]) -> bool:
        said.check([Trail(lease, tuple(lines))])
        given = {"job": str(lease.job), "fence": lease.fence, "lines": rows.written_lines(lines)}
        return bool(
            await self._writer.run(
                lambda connection, _: self._scripts.one(connection, "annotate.lines", **given),
                rows=len(lines),
            )
        )

    async def logs(
        self,
        job: UUID,
        *,
        fence: int | None = None,
        after: tuple[int, int] | None = None,
        limit: int = 1000,
    ) -> list[Logged]:
        return await self._read("logs", said.logged_from, job=str(job), **said.span(fence, after, limit))

    async def last_logs(self, job: UUID, *, limit: int = 1000) -> list[Logged]:
        said.check_limit(limit)
        return (await self._read("last_logs", said.logged_from, job=str(job), limit=limit))[::-1]
