"""The verbs of the PostgreSQL store that only read."""

from collections.abc import Collection
from typing import Any
from uuid import UUID

from msgspec.structs import replace

from tenure.core.errors import PositionGone
from tenure.core.model.job import Event, Job
from tenure.core.model.lease import Line, Presence
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
from tenure.storage.contract.store import KeyName
from tenure.storage.mapping import overview, paging, reading
from tenure.storage.mapping.job_rows import attempt_from, event_from, job_from, usage_from
from tenure.storage.mapping.obstacles import BOUNDS, obstacles_from
from tenure.storage.postgres import rows
from tenure.storage.postgres.database import Database


class Reading(Database):
    """Reads jobs, lines and workers."""

    async def get(self, job: UUID) -> Job | None:
        found = await self._pool.run("get", job=job)
        return job_from(found[0]) if found else None

    async def events(self, job: UUID, *, after: int = 0, limit: int | None = None) -> list[Event]:
        found = await self._pool.run("events", job=job, **paging.part(after, limit))
        return [event_from(row) for row in found]

    async def attempts(self, job: UUID, *, after: int = 0, limit: int | None = None) -> list[Attempt]:
        found = await self._pool.run("attempts", job=job, **paging.part(after, limit))
        return [attempt_from(row) for row in found]

    async def page(
        self, which: Filter, *, after: UUID | None = None, newest_first: bool = True, limit: int = 50
    ) -> Page:
        between = paging.bounds(which, after, newest_first=newest_first, limit=limit)
        looked_at = await self._scan(which, between, newest_first=newest_first)
        ids, following = paging.chosen(looked_at, limit)
        states = sorted(which.states) or None
        found = await self._pool.run("page.rows", ids=ids, states=states) if ids else []
        return Page([reading.listed_from(row) for row in found], following)

    async def counts(self, which: Filter) -> dict[State, Count]:
        if overview.is_of_lines(which):
            return overview.totals_from(await self._pool.run("counts", **overview.named_by(which)))
        of_any = replace(which, states=frozenset())
        between = paging.bounds(of_any, None, newest_first=True, limit=1)
        return overview.counted(which, await self._scan(of_any, between, newest_first=True), paging.BUDGET)

    async def _scan(
        self, which: Filter, between: tuple[UUID, UUID], *, newest_first: bool
    ) -> list[tuple[UUID, bool, str | None]]:
        """The jobs that may match, as many as the budget allows: id, whether it matches, state."""
        low, high = between
        lines, queued = await self._scope(which)
        way = paging.way(which, lines=None if lines is None else len(lines), queued=sum(queued.values()))
        looked_at = await self._pool.run(
            "page.scan",
            by_id=way.by_id,
            by_namespace=way.by_namespace,
            by_line=way.by_line,
            by_tag=way.by_tag,
            by_fingerprint=way.by_fingerprint,
            by_signal=way.by_signal,
            kinds=way.kinds,
            ended=way.ended,
            owned=way.owned,
            aside=way.aside,
            queued=list(queued) if way.queued else [],
            most_queued=2 * paging.FEW_QUEUED,
            ascending=not newest_first,
            low=low,
            high=high,
            budget=paging.BUDGET,
            lines=lines,
            states=sorted(which.states) or None,
            tag=which.tag,
            fingerprint=which.fingerprint,
            waiting_for=which.waiting_for,
            namespace=which.namespace,
            created_after=which.created_after,
            created_before=which.created_before,
        )
        return [(row["id"], row["matches"], row["state"]) for row in looked_at]

    async def _scope(self, which: Filter) -> tuple[list[int] | None, dict[int, int]]:
        """The lines of a filter (None: all) and, if the filter asks for queued jobs, how many each holds."""
        named: dict[str, Any] = {name: getattr(which, name) for name in ("queue", "definition", "version")}
        narrow = any(value is not None for value in named.values())
        if not narrow and State.QUEUED not in which.states:
            return None, {}
        found = await self._pool.run("page.scope", **named, queued=State.QUEUED in which.states)
        queued = {row["line"]: row["queued"] for row in found if row["queued"]}
        return [row["line"] for row in found] if narrow else None, queued

    async def briefs(self, jobs: Collection[UUID]) -> dict[UUID, Brief]:
        whole("jobs", len(jobs), 0, LARGEST_PAGE)
        found = [
            reading.brief_from(row) for row in await self._pool.run("briefs", ids=list(jobs), **reading.BRIEF)
        ]
        return {one.job: one for one in found}

    async def children(self, parent: UUID, *, limit: int = 50) -> list[Listed]:
        whole("limit", limit, 1, LARGEST_PAGE)
        found = sorted(row["id"] for row in await self._pool.run("children", job=parent, limit=limit))
        rows_of = await self._pool.run("page.rows", ids=found, states=None) if found else []
        return [reading.listed_from(row) for row in rows_of]

    async def usages(self, jobs: Collection[UUID]) -> dict[UUID, Usage]:
        whole("jobs", len(jobs), 0, LARGEST_PAGE)
        return {row["job"]: usage_from(row) for row in await self._pool.run("usages", ids=list(jobs))}

    async def ending_in(
        self, ending: str, *, namespace: str | None = None, limit: int = 10, among: int = MOST_LOOKED_AT
    ) -> list[UUID]:
        whole("limit", limit, 1, LARGEST_PAGE)
        found = await self._pool.run("ending_in", ending=ending, namespace=namespace, limit=limit, most=among)
        return [row["id"] for row in found]

    async def obstacles(self, job: UUID) -> Obstacles | None:
        found = await self._pool.run("obstacles", job=job, alive=WORKER_ALIVE, **BOUNDS)
        return obstacles_from(found[0]) if found else None

    async def feed(self, after: Position | None = None, *, limit: int = 1000) -> list[FeedEntry]:
        whole("limit", limit, 1, LARGEST_FEED)
        start = after or START
        found = await self._pool.run("feed", mark=start.mark, job=start.job, n=start.n, limit=limit)
        if found[0]["is_gone"]:
            raise PositionGone
        return [reading.entry_from(row) for row in found if row["mark"] is not None]

    async def end_of_feed(self) -> Position:
        [row] = await self._pool.run("end_of_feed")
        return Position.behind(row["mark"])

    async def recent(self, *, limit: int = LARGEST_FEED) -> Recent:
        whole("limit", limit, 1, LARGEST_FEED)
        return reading.recent_from(await self._pool.run("recent", limit=limit))

    async def outlook(self, lines: Collection[Line], present: Presence | None = None) -> Outlook:
        named = {**rows.lines(lines), **self._left_alone.columns(), **reading.AT_ONCE}
        named |= self._left_webhooks.columns()
        named |= {"worker": present and present.worker, "ready": present and present.ready}
        [row] = await self._pool.run("outlook", **named)
        return reading.outlook_from(row)

    async def lines(self) -> list[LineStatus]:
        return [reading.line_from(row) for row in await self._pool.run("lines", alive=WORKER_ALIVE)]

    async def depth(self, queue: str) -> int:
        [row] = await self._pool.run("depth", queue=queue)
        depth: int = row["depth"]
        return depth

    async def known_keys(self, keys: Collection[KeyName]) -> set[KeyName]:
        wanted = sorted(keys)
        found = await self._pool.run(
            "known_keys",
            namespaces=[namespace for namespace, _, _ in wanted],
            scopes=[scope for _, scope, _ in wanted],
            keys=[key for _, _, key in wanted],
        )
        return {(row["namespace"], row["scope"], row["key"]) for row in found}

    async def limits(self) -> list[LimitUse]:
        found = await self._pool.run("limits", name=None, id=0, limit=None)
        return [reading.limit_from(row) for row in found]

    async def limit_page(self, *, after: tuple[str, int] | None = None, limit: int = 50) -> LimitPage:
        whole("limit", limit, 1, LARGEST_PAGE)
        name, key = after or (None, 0)
        found = await self._pool.run("limits", name=name, id=key, limit=limit + 1)
        return reading.limit_page_from(found, limit)

    async def pauses(self) -> list[Pause]:
        return [reading.pause_from(row) for row in await self._pool.run("pauses")]

    async def definitions(self) -> list[Definition]:
        return [reading.definition_from(row) for row in await self._pool.run("definitions")]

    async def workers(self) -> list[WorkerStatus]:
        return [reading.worker_from(row) for row in await self._pool.run("workers", alive=WORKER_ALIVE)]
