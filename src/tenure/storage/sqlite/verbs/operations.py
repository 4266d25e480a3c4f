"""The verbs of the SQLite store for operators and workers, and its upkeep."""

from collections.abc import Sequence
from datetime import datetime

import apsw
import msgspec

from tenure.core.model.lease import Line
from tenure.core.reports.operations import Definition, PauseScope, WorkerInfo
from tenure.core.reports.restores import ClockReset, Resumed, WorkersSeen
from tenure.core.values.bounds import LARGEST_LIMIT, named, printable, whole
from tenure.core.values.text import storable
from tenure.storage.mapping import values
from tenure.storage.mapping.reading import definition_from, written_lines
from tenure.storage.mapping.webhooks import AS_MANY, KEPT, MOST_PORTIONS
from tenure.storage.sqlite import clock_reset, restore, rows
from tenure.storage.sqlite.file.clock import TransactionTime
from tenure.storage.sqlite.file.database import Database, Rows


class Operations(Database):
    """The verbs that move no job."""

    async def pause(
        self,
        target: PauseScope | Line | str,
        *,
        until: datetime | None = None,
        by: str = "api",
        reason: str | None = None,
    ) -> None:
        ends_at = values.aware("until", until)
        await self._write(
            "pause",
            **values.pausing(target),
            until=None if ends_at is None else rows.micros(ends_at),
            by=storable(by),
            reason=reason and storable(reason),
        )

    async def resume(self, target: PauseScope | Line | str) -> bool:
        return any(row["was_paused"] for row in await self._write("resume", **values.pausing(target)))

    async def set_limit(self, name: str, size: int, *, create: bool = True) -> bool:
        named("limit", name)
        whole("limit.size", size, 1, LARGEST_LIMIT)
        return bool(await self._write("set_limit", name=name, size=size, create=create))

    async def put_definitions(
        self, definitions: Sequence[Definition], *, replace: bool = True
    ) -> list[Definition]:
        last = {(definition.key, definition.version): definition for definition in definitions}
        given = msgspec.json.encode(list(last.values())).decode()

        def register(connection: apsw.Connection, turn: TransactionTime) -> Rows:
            before = self._scripts.one(connection, "put_definitions.before", definitions=given)
            written = {"definitions": given, "replace": replace}
            self._scripts.one(connection, "put_definitions.registered", now=turn.now, **written)
            return before

        return [definition_from(row) for row in await self._writer.run(register)]

    async def enlist(self, worker: WorkerInfo) -> None:
        await self._run(
            "enlist",
            id=worker.id,
            host=worker.host,
            pid=worker.pid,
            version=worker.version,
            slots=worker.slots,
            lines=written_lines(worker.lines),
        )

    async def dismiss(self, worker: str) -> None:
        printable("worker", worker, least=1)
        await self._write("dismiss", worker=worker)

    async def drain(self, worker: str) -> bool:
        printable("worker", worker, least=1)
        return bool(await self._write("drain", worker=worker))

    async def resume_after_restore(self, *, forced: bool = False) -> Resumed | WorkersSeen:
        return await self._writer.run(
            lambda connection, turn: restore.resume(self._scripts, connection, turn, forced=forced)
        )

    async def reset_clock(self, *, forced: bool = False) -> ClockReset | WorkersSeen | None:
        return await self._writer.run(
            lambda connection, turn: clock_reset.reset(self._scripts, connection, turn, forced=forced)
        )

    async def tidy(self) -> int:
        forgotten = await self._write("tidy.workers")
        await self._write("tidy.ticks")
        await self._write("tidy.announcements")
        await self._write("tidy.repetitions")
        await self._writer.run(self._tidy_limits)
        for state, kept in KEPT.items():
            await self._tidy_portions("ended", state=state, kept=rows.duration(kept))
        await self._tidy_portions("orphans")
        await self._write("tidy_webhooks.secrets")
        return len(forgotten)

    async def _tidy_portions(self, part: str, **named: object) -> None:
        for _ in range(MOST_PORTIONS):
            if len(await self._write(f"tidy_webhooks.{part}", **named, limit=AS_MANY)) < AS_MANY:
                return

    def _tidy_limits(self, connection: apsw.Connection, _turn: TransactionTime) -> None:
        for row in self._scripts.one(connection, "tidy_limits.free"):
            for part in ("lines", "limits"):
                self._scripts.one(connection, f"tidy_limits.{part}", **row)
