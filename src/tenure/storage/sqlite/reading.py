"""What is read from an SQLite store: always beside the writer, so that neither waits for the other."""

from collections.abc import Collection
from contextlib import AbstractAsyncContextManager
from uuid import UUID

import msgspec

from tenure.core.bounds import LARGEST_FEED, whole
from tenure.core.job import Event, Job
from tenure.core.lease import Line
from tenure.core.limit import LimitUse
from tenure.core.operations import WORKER_ALIVE, Definition, LineStatus, WorkerStatus
from tenure.core.outcome import Attempt
from tenure.core.reading import Entry, Filter, Outlook, Page, Position
from tenure.core.states import State
from tenure.storage import paging, reading, values
from tenure.storage.contract import Wakeups
from tenure.storage.sqlite import rows, wakeups
from tenure.storage.sqlite.database import Database

_BEFORE_ALL = Position(0, UUID(int=0), 0)
_LAST_ID, _LAST_N = UUID(int=2**128 - 1), 2**31 - 1


class Reading(Database):
    """The verbs that change nothing."""

    async def get(self, job: UUID) -> Job | None:
        found = await self._read("get", job=str(job))
        return values.job_from(found[0]) if found else None

    async def events(self, job: UUID) -> list[Event]:
        return [values.event_from(row) for row in await self._read("events", job=str(job))]

    async def attempts(self, job: UUID) -> list[Attempt]:
        return [values.attempt_from(row) for row in await self._read("attempts", job=str(job))]

    async def page(
        self, which: Filter, *, after: UUID | None = None, newest_first: bool = True, limit: int = 50
    ) -> Page:
        low, high = paging.bounds(which, after, newest_first=newest_first, limit=limit)
        streams, owned, filled = await self._ways(which)
        states = _written(which.states) if which.states else None
        jobs: list[UUID] = []
        following: UUID | None = None
        # Mostly the first few match.
        for budget in (2 * limit, paging.BUDGET):
            looked_at = await self._read(
                "page.scan",
                streams=_written(streams),
                owned=owned,
                filled=_written(filled),
                **_outside(low, high),
                newest_first=newest_first,
                budget=budget,
                states=states,
                **_narrowing(which),
            )
            found = [(row["id"], bool(row["matches"])) for row in looked_at]
            jobs, following = paging.chosen(found, limit, budget)
            if len(jobs) == limit or following is None:
                break
        listed = await self._read("page.rows", jobs=_written(jobs), states=states) if jobs else []
        return Page([reading.listed_from(row) for row in listed], following)

    async def feed(self, after: Position | None = None, *, limit: int = 1000) -> list[Entry]:
        whole("limit", limit, 1, LARGEST_FEED)
        behind = after or _BEFORE_ALL
        found = await self._read("feed", mark=behind.mark, job=str(behind.job), n=behind.n, limit=limit)
        return [reading.entry_from(row) for row in found]

    async def end_of_feed(self) -> Position:
        [row] = await self._read("end_of_feed")
        return Position(row["mark"], _LAST_ID, _LAST_N)

    async def outlook(self, lines: Collection[Line]) -> Outlook:
        [row] = await self._read("outlook", lines=reading.written_lines(lines))
        return reading.outlook_from(row)

    def listen(self, *, endings: bool = False) -> AbstractAsyncContextManager[Wakeups]:
        return wakeups.listen(self._path, endings=endings)

    async def lines(self) -> list[LineStatus]:
        found = await self._read("lines", alive=rows.duration(WORKER_ALIVE))
        return [reading.line_from(row) for row in found]

    async def limits(self) -> list[LimitUse]:
        return [reading.limit_from(row) for row in await self._read("limits")]

    async def definitions(self) -> list[Definition]:
        return [reading.definition_from(row) for row in await self._read("definitions")]

    async def workers(self) -> list[WorkerStatus]:
        found = await self._read("workers", alive=rows.duration(WORKER_ALIVE))
        return [reading.worker_from({**row, "id": row["worker"]}) for row in found]

    async def _ways(self, which: Filter) -> tuple[list[tuple[str, str | int]], bool, list[int]]:
        """Where to look: sorted streams of ids, whether among the owned, and the lines to search."""
        narrow = any(part is not None for part in (which.queue, which.definition, which.version))
        queued = State.QUEUED in which.states
        meant: list[int] = []
        waiting: dict[int, int] = {}
        if narrow or queued:
            for row in await self._read(
                "page.scope",
                narrow=narrow,
                queued=queued,
                queue=which.queue,
                definition=which.definition,
                version=which.version,
                few_lines=paging.FEW_LINES,
                few_queued=paging.FEW_QUEUED,
            ):
                if row["queued"] is None:
                    meant.append(row["line"])
                else:
                    waiting[row["line"]] = row["queued"]
        way = paging.way(which, lines=len(meant) if narrow else None, queued=sum(waiting.values()))
        streams: list[tuple[str, str | int]] = [("timer", kind) for kind in way.kinds]
        streams += [("finished", state) for state in way.ended]
        streams += [("line", line) for line in meant if way.by_line]
        streams += [("tag", which.tag)] if way.by_tag and which.tag is not None else []
        streams += [("job", "")] if way.by_id else []
        return streams, way.owned, list(waiting) if way.queued else []


def _narrowing(which: Filter) -> dict[str, str | int | None]:
    """What a job is compared with, one by one."""
    after, before = which.created_after, which.created_before
    return {
        "queue": which.queue,
        "definition": which.definition,
        "version": which.version,
        "namespace": which.namespace,
        "created_after": None if after is None else rows.micros(after),
        "created_before": None if before is None else rows.micros(before),
    }


def _outside(low: UUID, high: UUID) -> dict[str, str]:
    """Texts just before the first id and just behind the last one."""
    return {
        "above": str(UUID(int=low.int - 1)) if low.int else "",
        "below": str(UUID(int=high.int + 1)) if high != _LAST_ID else "~",
    }


def _written(value: object) -> str:
    return msgspec.json.encode(value).decode()
