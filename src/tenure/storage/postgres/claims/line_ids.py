"""The ids of lines, cached: every job is recorded with its line's id, and most jobs share a few lines."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any, TypeVar

import msgspec

from tenure.core.model.job import NewJob
from tenure.core.model.lease import Line
from tenure.core.model.limit import Limit
from tenure.storage.postgres import rows
from tenure.storage.postgres.wire.pool import Pool

MOST_CACHED = 50_000
"""How many lines a process caches."""

MOST_A_STATEMENT = 1_000
"""How many lines or limits one statement creates or looks up: nobody else's waits long for it, and the server
does not take it for so much work that it compiles the statement first."""

T = TypeVar("T")
Kind = tuple[str, str, int, tuple[tuple[str, str], ...]]
"""What identifies a line: queue, definition, version, and the (name, key) of its jobs' limits."""


class LineIds:
    """Finds lines and creates new ones. One that is gone is noticed when a job is recorded: see `forget`."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._cache: dict[Kind, int] = {}

    def cached(self, job: NewJob) -> int | None:
        """The line of one new job; None if it has to be looked up."""
        return self._cache.get(_kind(job))

    def all_cached(self, jobs: Sequence[NewJob]) -> list[int] | None:
        """The line of each new job; None if some have to be looked up."""
        try:
            return [self._cache[_kind(job)] for job in jobs]
        except KeyError:
            return None

    async def find(self, jobs: Sequence[NewJob]) -> list[int]:
        """The line of each new job; creates lines that are new."""
        if len(self._cache) > MOST_CACHED:
            self._cache.clear()
        kinds = [_kind(job) for job in jobs]
        if unknown := {kind for kind in kinds if kind not in self._cache}:
            await self._create(unknown, _limits(jobs))
        return [self._cache[kind] for kind in kinds]

    async def ensure(self, lines: Collection[Line]) -> None:
        """Make sure that these lines, without limits, exist."""
        kinds: set[Kind] = {(line.queue, line.definition, line.version, ()) for line in lines}
        await self._create(kinds - self._cache.keys(), [])

    def forget(self) -> None:
        """Empty the cache: the database was restored or created anew."""
        self._cache.clear()

    async def _create(self, unknown: set[Kind], limits: Collection[Limit]) -> None:
        if limits:
            for some in _in_parts(list(limits)):
                named = rows.limits(some)
                await self._pool.run("enqueue.limits", **named)
                await self._pool.run("enqueue.slots", **named)
        else:  # with a limit that does not exist yet, the line of the other limits would be found
            await self._look_up(unknown)
        if new := unknown - self._cache.keys():
            for kinds in _in_parts(sorted(new)):
                await self._pool.run("enqueue.lines", **_named(kinds))
            await self._look_up(new)

    async def _look_up(self, wanted: Collection[Kind]) -> None:
        for kinds in _in_parts(sorted(wanted)):
            for row in await self._pool.run("enqueue.line_ids", **_named(kinds)):
                self._cache[kinds[row["position"] - 1]] = row["line"]


def line_of(job: NewJob) -> Line:
    """The line that a worker must serve to get the job."""
    return Line(job.queue, job.definition, job.version)


def _kind(job: NewJob) -> Kind:
    limits = tuple(sorted((limit.name, limit.key) for limit in job.namespaced_limits)) if job.limits else ()
    return job.queue, job.definition, job.version, limits


def _named(kinds: Sequence[Kind]) -> dict[str, list[Any]]:
    return {
        **rows.lines([Line(*kind[:3]) for kind in kinds]),
        "limits": [msgspec.json.encode(names).decode() for *_, names in kinds],
    }


def _in_parts(wanted: Sequence[T]) -> Iterator[Sequence[T]]:
    for first in range(0, len(wanted), MOST_A_STATEMENT):
        yield wanted[first : first + MOST_A_STATEMENT]


def _limits(jobs: Sequence[NewJob]) -> list[Limit]:
    """The limits of new jobs, each name with the size that came first."""
    sizes: dict[str, int] = {}
    for job in jobs:
        for limit in job.limits:
            sizes.setdefault(limit.name, limit.size)
    named = {(limit.name, limit.key) for job in jobs for limit in job.namespaced_limits}
    return [Limit(name, key, sizes[name]) for name, key in sorted(named)]
