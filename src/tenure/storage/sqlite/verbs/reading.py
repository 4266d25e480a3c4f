"""The verbs of the SQLite store that read: always beside the writer, so that neither waits for the other."""

from collections.abc import Collection
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple
from uuid import UUID

import msgspec
from msgspec.structs import replace

from tenure.core.errors import PositionGone
from tenure.core.model.job import Event, Job
from tenure.core.model.lease import Line
from tenure.core.model.limit import LimitPage, LimitUse
from tenure.core.model.outcome import Attempt
from tenure.core.model.states import State
from tenure.core.model.trail import Usage
from tenure.core.reports.failures import Count
from tenure.core.reports.obstacles import Obstacles
from tenure.core.reports.operations import WORKER_ALIVE, Definition, LineStatus, Pause, WorkerStatus
from tenure.core.reports.reading import (
    START,
    Brief,
    FeedEntry,
    Filter,
    Listed,
    Outlook,
    Page,
    Position,
    Recent,
)
from tenure.core.values.bounds import LARGEST_FEED, LARGEST_PAGE, MOST_LOOKED_AT, whole
from tenure.storage.contract.store import KeyName, Wakeups
from tenure.storage.mapping import overview, paging, reading
from tenure.storage.mapping.job_rows import attempt_from, event_from, job_from, usage_from
from tenure.storage.mapping.obstacles import BOUNDS, obstacles_from
from tenure.storage.sqlite import rows
from tenure.storage.sqlite.file.database import Database

Stream = tuple[str, str | int | None]
"""A sorted list of ids in the database: its kind, and which one of that kind."""

_LAST_ID = UUID(int=2**128 - 1)


class _Sources(NamedTuple):
    """Where `page.scan` finds jobs: in streams, among the owned, and in lines with queued jobs."""

    streams: list[Stream]
    owned: bool
    filled: list[int]


class Reading(Database):
    """The verbs that change nothing."""

    async def get(self, job: UUID) -> Job | None:
        found = await self._read("get", job_from, job=str(job))
        return found[0] if found else None

    async def events(self, job: UUID, *, after: int = 0, limit: int | None = None) -> list[Event]:
        part = paging.part(after, limit)
        return await self._read("events", event_from, job=str(job), **part)

    async def attempts(self, job: UUID, *, after: int = 0, limit: int | None = None) -> list[Attempt]:
        part = paging.part(after, limit)
        return await self._read("attempts", attempt_from, job=str(job), **part)

    async def page(
        self, which: Filter, *, after: UUID | None = None, newest_first: bool = True, limit: int = 50
    ) -> Page:
        between = paging.bounds(which, after, newest_first=newest_first, limit=limit)
        sources = await self._sources(which)
        jobs: list[UUID] = []
        following: UUID | None = None
        # Mostly the first few match.
        for budget in (2 * limit, paging.BUDGET):
            looked_at = await self._scan(which, sources, between, newest_first=newest_first, budget=budget)
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
        sources, budget = await self._sources(of_any), paging.BUDGET
        looked_at = await self._scan(of_any, sources, between, newest_first=True, budget=budget)
        return overview.counted(which, looked_at, budget)

    async def _scan(
        self, which: Filter, sources: _Sources, between: tuple[UUID, UUID], *, newest_first: bool, budget: int
    ) -> list[tuple[UUID, bool, str | None]]:
        """Up to `budget` candidates: their ids, whether each matches the filter, and its state."""
        return await self._read(
            "page.scan",
            lambda row: (row["id"], bool(row["matches"]), row["state"]),
            streams=_written(sources.streams),
            owned=sources.owned,
            filled=_written(sources.filled),
            **_outside(*between),
            newest_first=newest_first,
            budget=budget,
            states=_written(which.states) if which.states else None,
            **_narrowing(which),
        )

    async def briefs(self, jobs: Collection[UUID]) -> dict[UUID, Brief]:
        whole("jobs", len(jobs), 0, LARGEST_PAGE)
        found = await self._read("briefs", reading.brief_from, jobs=_written(list(jobs)), **reading.BRIEF)
        return {one.job: one for one in found}

    async def children(self, parent: UUID, *, limit: int = 50) -> list[Listed]:
        whole("limit", limit, 1, LARGEST_PAGE)
        found = await self._read("children", lambda row: row["id"], job=str(parent), limit=limit)
        return await self._read("page.rows", reading.listed_from, jobs=_written(sorted(found)), states=None)

    async def usages(self, jobs: Collection[UUID]) -> dict[UUID, Usage]:
        whole("jobs", len(jobs), 0, LARGEST_PAGE)
        written = _written(list(jobs))
        return dict(await self._read("usages", lambda row: (row["job"], usage_from(row)), jobs=written))

    async def ending_in(
        self, ending: str, *, namespace: str | None = None, limit: int = 10, among: int = MOST_LOOKED_AT
    ) -> list[UUID]:
        whole("limit", limit, 1, LARGEST_PAGE)
        return await self._read(
            "ending_in", lambda row: row["id"], ending=ending, namespace=namespace, limit=limit, most=among
        )

    async def obstacles(self, job: UUID) -> Obstacles | None:
        found = await self._read(
            "obstacles", obstacles_from, job=str(job), alive=rows.duration(WORKER_ALIVE), **BOUNDS
        )
        return found[0] if found else None

    async def feed(self, after: Position | None = None, *, limit: int = 1000) -> list[FeedEntry]:
        whole("limit", limit, 1, LARGEST_FEED)
        behind = after or START
        if any(await self._read("feed.standing", lambda row: row["is_gone"], mark=behind.mark)):
            raise PositionGone
        return await self._read(
            "feed.entries", reading.entry_from, mark=behind.mark, job=str(behind.job), n=behind.n, limit=limit
        )

    async def end_of_feed(self) -> Position:
        [mark] = await self._read("end_of_feed", lambda row: int(row["mark"]))
        return Position.behind(mark)

    async def recent(self, *, limit: int = LARGEST_FEED) -> Recent:
        whole("limit", limit, 1, LARGEST_FEED)
        return reading.recent_from(await self._read("recent", lambda row: row, limit=limit))

    async def _look_out(self, lines: Collection[Line]) -> Outlook:
        [outlook] = await self._read(
            "outlook",
            reading.outlook_from,
            lines=reading.written_lines(lines),
            alone=rows.left_alone(self._left_alone.entries()),
            left=rows.left_webhooks(self._left_webhooks.entries()),
            **reading.AT_ONCE,
        )
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
        return await self._read("limits", reading.limit_from, name=None, id=0, limit=-1)

    async def limit_page(self, *, after: tuple[str, int] | None = None, limit: int = 50) -> LimitPage:
        whole("limit", limit, 1, LARGEST_PAGE)
        name, key = after or (None, 0)
        found = await self._read("limits", dict, name=name, id=key, limit=limit + 1)
        return reading.limit_page_from(found, limit)

    async def pauses(self) -> list[Pause]:
        return await self._read("pauses", reading.pause_from)

    async def definitions(self) -> list[Definition]:
        return await self._read("definitions", reading.definition_from)

    async def workers(self) -> list[WorkerStatus]:
        return await self._read(
            "workers",
            lambda row: reading.worker_from({**row, "id": row["worker"]}),
            alive=rows.duration(WORKER_ALIVE),
        )

    async def _sources(self, which: Filter) -> _Sources:
        """Where jobs that match a filter can be."""
        is_narrow = any(part is not None for part in (which.queue, which.definition, which.version))
        lines: list[int] = []
        queued: dict[int, int] = {}
        if is_narrow or State.QUEUED in which.states:
            lines, queued = await self._scope(which, is_narrow=is_narrow)
        way = paging.way(which, lines=len(lines) if is_narrow else None, queued=sum(queued.values()))
        return _Sources(_streams(which, way, lines), way.owned, list(queued) if way.queued else [])

    async def _scope(self, which: Filter, *, is_narrow: bool) -> tuple[list[int], dict[int, int]]:
        """The lines that a filter names, and the lines with queued jobs, with how many."""
        found = await self._read(
            "page.scope",
            lambda row: (row["line"], row["queued"]),
            narrow=is_narrow,
            queued=State.QUEUED in which.states,
            queue=which.queue,
            definition=which.definition,
            version=which.version,
            few_lines=paging.FEW_LINES,
            few_queued=paging.FEW_QUEUED,
        )
        lines = [line for line, count in found if count is None]
        return lines, {line: count for line, count in found if count is not None}


def _streams(which: Filter, way: paging.Way, lines: list[int]) -> list[Stream]:
    """The streams of ids to read side by side."""
    if way.by_tag:
        return [("tag", which.tag)]
    if way.by_fingerprint:
        return [("fingerprint", which.fingerprint)]
    if way.by_signal:
        return [("signal", which.waiting_for)]
    if way.by_namespace:
        return [("namespace", which.namespace)]
    if way.by_line:
        return [("line", line) for line in lines]
    if way.by_id:
        return [("job", "")]
    timers: list[Stream] = [("timer", kind) for kind in way.kinds]
    finished: list[Stream] = [("finished", state) for state in way.ended]
    return [*timers, *finished, ("aside", "")] if way.aside else finished


def _narrowing(which: Filter) -> dict[str, str | int | None]:
    """The values that each candidate is compared with."""
    after, before = which.created_after, which.created_before
    return {
        "queue": which.queue,
        "definition": which.definition,
        "version": which.version,
        "namespace": which.namespace,
        "fingerprint": which.fingerprint,
        "waiting_for": which.waiting_for,
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
