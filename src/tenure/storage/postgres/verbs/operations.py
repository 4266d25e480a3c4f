"""The verbs of the PostgreSQL store for operators and upkeep."""

from collections.abc import Sequence
from datetime import datetime

from tenure.core.model.lease import Line
from tenure.core.reports.operations import Definition, PauseScope, WorkerInfo
from tenure.core.reports.restores import ClockReset, Resumed, WorkersSeen
from tenure.core.values.bounds import LARGEST_LIMIT, named, printable, whole
from tenure.core.values.text import storable
from tenure.storage.mapping import reading, values
from tenure.storage.mapping.webhooks import AS_MANY, KEPT, MOST_PORTIONS
from tenure.storage.postgres import restore
from tenure.storage.postgres.database import Database


class Operations(Database):
    """Pauses, limits, definitions, workers."""

    async def pause(
        self,
        target: PauseScope | Line | str,
        *,
        until: datetime | None = None,
        by: str = "api",
        reason: str | None = None,
    ) -> None:
        await self._pool.run(
            "pause",
            **values.pausing(target),
            until=values.aware("until", until),
            by=storable(by),
            reason=reason and storable(reason),
        )
        self._look_again()

    async def resume(self, target: PauseScope | Line | str) -> bool:
        ended = await self._pool.run("resume", **values.pausing(target))
        self._look_again()
        return any(row["was_paused"] for row in ended)

    async def set_limit(self, name: str, size: int, *, create: bool = True) -> bool:
        named("limit", name)
        whole("limit.size", size, 1, LARGEST_LIMIT)
        if not await self._pool.run("set_limit.size", name=name, size=size, create=create):
            return False
        await self._pool.run("set_limit.slots", name=name)
        self._look_again()
        return True

    async def put_definitions(
        self, definitions: Sequence[Definition], *, replace: bool = True
    ) -> list[Definition]:
        latest = {(one.key, one.version): one for one in definitions}.values()
        before = await self._pool.run(
            "put_definitions",
            keys=[one.key for one in latest],
            versions=[one.version for one in latest],
            specs=[one.spec for one in latest],
            overrides=[one.override for one in latest],
            by=[one.registered_by for one in latest],
            replace=replace,
        )
        return [reading.definition_from(row) for row in before]

    async def enlist(self, worker: WorkerInfo) -> None:
        await self._lines.ensure(worker.lines)
        await self._pool.run(
            "enlist",
            id=worker.id,
            pid=worker.pid,
            slots=worker.slots,
            host=worker.host,
            version=worker.version,
            lines=reading.written_lines(worker.lines),
        )

    async def dismiss(self, worker: str) -> None:
        printable("worker", worker, least=1)
        await self._pool.run("dismiss", worker=worker)

    async def drain(self, worker: str) -> bool:
        printable("worker", worker, least=1)
        return bool(await self._pool.run("drain", worker=worker))

    async def resume_after_restore(self, *, forced: bool = False) -> Resumed | WorkersSeen:
        answer = await self._pool.transact(lambda run: restore.resume(run, forced=forced))
        self._wake_all()
        return answer

    async def reset_clock(self, *, forced: bool = False) -> ClockReset | WorkersSeen | None:  # noqa: ARG002
        return None

    async def tidy(self) -> int:
        [row] = await self._pool.run("tidy")
        await self._pool.run_all(("tidy_limits.turn", {}), ("tidy_limits.remove", {}))
        await self._tidy_portions("ended", states=list(KEPT), kept=list(KEPT.values()))
        await self._tidy_portions("orphans")
        await self._pool.run("tidy_webhooks.secrets")
        spared: int = row["spared"]
        return spared

    async def _tidy_portions(self, part: str, **named: object) -> None:
        for _ in range(MOST_PORTIONS):
            if len(await self._pool.run(f"tidy_webhooks.{part}", **named, limit=AS_MANY)) < AS_MANY:
                return
