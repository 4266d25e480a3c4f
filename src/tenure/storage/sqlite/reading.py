"""What is read from an SQLite store: always beside the writer, so that neither waits for the other."""

from collections.abc import Collection
from contextlib import AbstractAsyncContextManager
from uuid import UUID

import msgspec
from msgspec.structs import replace

from tenure.core.bounds import LARGEST_FEED, whole
from tenure.core.failures import Count
from tenure.core.job import Event, Job
from tenure.core.lease import Line
from tenure.core.limit import LimitUse
from tenure.core.operations import WORKER_ALIVE, Definition, LineStatus, WorkerStatus
from tenure.core.outcome import Attempt
from tenure.core.reading import START, Entry, Filter, Outlook, Page, Position, Recent
from tenure.core.states import State
from tenure.storage import overview, paging, reading, values
from tenure.storage.contract import KeyName, Wakeups
from tenure.storage.sqlite import rows
from tenure.storage.sqlite.database import Database

_LAST_ID = UUID(int=2**128 - 1)
Ways = tuple[list[tuple[str, str | int]], bool, list[int]]


class Reading(Database):
    """The verbs that change nothing."""

    async def get(self, job: UUID) -> Job | None:
        found = await self._read("get", values.job_from, job=str(job))
        return found[0] if found else None

    async def events(self, job: UUID, *, after: int = 0, limit: int | None = None) -> list[Event]:
        part = paging.part(after, limit)
        return await self._read("events", values.event_from, job=str(job), **part)

    async def attempts(self, job: UUID, *, after: int = 0, limit: int | None = None) -> list[Attempt]:
        part = paging.part(after, limit)
        return await self._read("attempts", values.attempt_from, job=str(job), **part)

    async def page(
        self, which: Filter, *, after: UUID | None = None, newest_first: bool = True, limit: int = 50
    ) -> Page:
        between = paging.bounds(which, after, newest_first=newest_first, limit=limit)
        ways = await self._ways(which)
        jobs: list[UUID] = []
        following: UUID | None = None
        # Mostly the first few match.
        for budget in (2 * limit, paging.BUDGET):
            looked_at = await self._scan(which, ways, between, newest_first=newest_first, budget=budget)
            jobs, following = paging.chosen(looked_at, limit, budget)
            if len(jobs) == limit or following is None:
                break
        if not jobs:
            return Page([], following)
        states = _written(which.states) if which.states else None
        listed = await self._read("page.rows", reading.listed_from, jobs=_written(jobs), states=states)
        return Page(listed, following)

    async def counts(self, which: Filter) -> dict[State, Count]:
        if overview.is_of_lines(which):
            found = await self._read("counts", lambda row: row, **overview.named_by(which))
            return overview.totals_from(found)
        of_any = replace(which, states=frozenset())
        between = paging.bounds(of_any, None, newest_first=True, limit=1)
        ways, budget = await self._ways(of_any), paging.BUDGET
        looked_at = await self._scan(of_any, ways, between, newest_first=True, budget=budget)
        return overview.counted(which, looked_at, budget)

    async def _scan(
        self, which: Filter, ways: Ways, between: tuple[UUID, UUID], *, newest_first: bool, budget: int
    ) -> list[tuple[UUID, bool, str | None]]:
        """The jobs that come into question, as many as may be looked at: whether each is meant, its state."""
        streams, owned, filled = ways
        return await self._read(
            "page.scan",
            lambda row: (row["id"], bool(row["matches"]), row["state"]),
            streams=_written(streams),
            owned=owned,
            filled=_written(filled),
            **_outside(*between),
            newest_first=newest_first,
            budget=budget,
            states=_written(which.states) if which.states else None,
            **_narrowing(which),
        )

    async def feed(self, after: Position | None = None, *, limit: int = 1000) -> list[Entry]:
        whole("limit", limit, 1, LARGEST_FEED)
        behind = after or START
        return await self._read(
            "feed", reading.entry_from, mark=behind.mark, job=str(behind.job), n=behind.n, limit=limit
        )

    async def end_of_feed(self) -> Position:
        [mark] = await self._read("end_of_feed", lambda row: int(row["mark"]))
        return Position.behind(mark)

    async def recent(self, *, limit: int = LARGEST_FEED) -> Recent:
        whole("limit", limit, 1, LARGEST_FEED)
        return reading.recent_from(await self._read("recent", lambda row: row, limit=limit))

    async def outlook(self, lines: Collection[Line]) -> Outlook:
        [outlook] = await self._read("outlook", reading.outlook_from, lines=reading.written_lines(lines))
        return outlook

    def listen(
        self, *, endings: bool = False, stops: bool = False, changes: bool = False
    ) -> AbstractAsyncContextManager[Wakeups]:
        return self._watch.listen(everything=endings or changes, stops=stops)

    async def lines(self) -> list[LineStatus]:
        return await self._read("lines", reading.line_from, alive=rows.duration(WORKER_ALIVE))

    async def depth(self, queue: str) -> int:
        [depth] = await self._read("depth", lambda row: int(row["depth"]), queue=queue)
        return depth

    async def known_keys(self, keys: Collection[KeyName]) -> set[KeyName]:
        found = await self._read(
            "known_keys", lambda row: (row["namespace"], row["scope"], row["key"]), keys=_written(list(keys))
        )
        return set(found)

    async def limits(self) -> list[LimitUse]:
        return await self._read("limits", reading.limit_from)

    async def definitions(self) -> list[Definition]:
        return await self._read("definitions", reading.definition_from)

    async def workers(self) -> list[WorkerStatus]:
        return await self._read(
            "workers",
            lambda row: reading.worker_from({**row, "id": row["worker"]}),
            alive=rows.duration(WORKER_ALIVE),
        )

    async def _ways(self, which: Filter) -> Ways:
        """Where to look: sorted streams of ids, whether among the owned, and the lines to search."""
        narrow = any(part is not None for part in (which.queue, which.definition, which.version))
        queued = State.QUEUED in which.states
        meant: list[int] = []
        waiting: dict[int, int] = {}
        if narrow or queued:
            for line, standing in await self._read(
                "page.scope",
                lambda row: (row["line"], row["queued"]),
                narrow=narrow,
                queued=queued,
                queue=which.queue,
                definition=which.definition,
                version=which.version,
                few_lines=paging.FEW_LINES,
                few_queued=paging.FEW_QUEUED,
            ):
                if standing is None:
                    meant.append(line)
                else:
                    waiting[line] = standing
        way = paging.way(which, lines=len(meant) if narrow else None, queued=sum(waiting.values()))
        streams: list[tuple[str, str | int]] = [("timer", kind) for kind in way.kinds]
        streams += [("finished", state) for state in way.ended]
        streams += [("aside", "")] if way.aside else []
        streams += [("line", line) for line in meant if way.by_line]
        streams += [("tag", which.tag)] if way.by_tag and which.tag is not None else []
        if way.by_fingerprint and which.fingerprint is not None:
            streams.append(("fingerprint", which.fingerprint))
        streams += [("namespace", which.namespace)] if way.by_namespace and which.namespace else []
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
        "fingerprint": which.fingerprint,
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
