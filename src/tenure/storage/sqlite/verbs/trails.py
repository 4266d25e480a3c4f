"""The verbs of the SQLite store about log lines and notes of attempts."""

from collections.abc import Sequence
from uuid import UUID

from tenure.core.model.lease import Lease
from tenure.core.model.trail import Logged, LogLine, Note, Recorded, Trail
from tenure.core.values.bounds import MOST_NOTES, printable
from tenure.storage.mapping import trails as trail_mapping
from tenure.storage.sqlite import rows
from tenure.storage.sqlite.file.database import Database


class Trails(Database):
    """Log lines and notes."""

    async def record(self, worker: str, trails: Sequence[Trail]) -> Recorded:
        printable("worker", worker, least=1)
        given = trail_mapping.trail_rows(trails)
        answer = await self._run("record", rows.trails(given), worker=worker, most=MOST_NOTES)
        return trail_mapping.recorded_from(given, answer)

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
        trail_mapping.check([Trail(lease, tuple(lines))])
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
        return await self._read(
            "logs", trail_mapping.logged_from, job=str(job), **trail_mapping.span(fence, after, limit)
        )

    async def last_logs(self, job: UUID, *, limit: int = 1000) -> list[Logged]:
        trail_mapping.check_limit(limit)
        return (await self._read("last_logs", trail_mapping.logged_from, job=str(job), limit=limit))[::-1]
