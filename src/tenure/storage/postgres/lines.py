"""The numbers of lines, remembered: a job is recorded under its line's number, and most jobs share a few."""

from collections.abc import Collection, Sequence
from typing import Any

import msgspec

from tenure.core.job import NewJob
from tenure.core.lease import Line
from tenure.core.limit import Limit
from tenure.storage.postgres import rows
from tenure.storage.postgres.pool import Pool

MOST_KNOWN = 50_000
"""How many lines a process remembers."""

Kind = tuple[str, str, int, tuple[tuple[str, str], ...]]
"""What makes a line: queue, definition and version, which workers serve, and its jobs' limits (name, key)."""


class Lines:
    """Finds lines, and makes those that are new. Lines are never deleted, so what was seen once is there."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._known: dict[Kind, int] = {}

    def number(self, job: NewJob) -> int | None:
        """The line of one new job; None where it has to be looked up."""
        return self._known.get(_kind(job))

    def known(self, jobs: Sequence[NewJob]) -> list[int] | None:
        """The line of each new job; None where some have to be looked up."""
        try:
            return [self._known[_kind(job)] for job in jobs]
        except KeyError:
            return None

    async def numbers(self, jobs: Sequence[NewJob]) -> list[int]:
        """The line of each new job."""
        if len(self._known) > MOST_KNOWN:
            self._known.clear()
        kinds = [_kind(job) for job in jobs]
        if unknown := {kind for kind in kinds if kind not in self._known}:
            await self._open(unknown, _limits(jobs))
        return [self._known[kind] for kind in kinds]

    async def make(self, lines: Collection[Line]) -> None:
        """Make sure that lines without limits are there."""
        kinds: set[Kind] = {(line.queue, line.definition, line.version, ()) for line in lines}
        await self._open(kinds - self._known.keys(), [])

    def forget(self) -> None:
        """The database is not the one we knew: it was restored or made anew under us."""
        self._known.clear()

    async def _open(self, unknown: set[Kind], limits: Collection[Limit]) -> None:
        if limits:
            named = rows.limits(limits)
            await self._pool.run("enqueue.limits", **named)
            await self._pool.run("enqueue.slots", **named)
        else:  # by limits of which one is not there yet, the line of the others would be found
            await self._look_up(unknown)
        if new := unknown - self._known.keys():
            await self._pool.run("enqueue.lines", **_named(sorted(new)))
            await self._look_up(new)

    async def _look_up(self, wanted: Collection[Kind]) -> None:
        kinds = sorted(wanted)
        for row in await self._pool.run("enqueue.line_ids", **_named(kinds)) if kinds else []:
            self._known[kinds[row["position"] - 1]] = row["line"]


def line_of(job: NewJob) -> Line:
    """The line that a worker must serve to get the job."""
    return Line(job.queue, job.definition, job.version)


def _kind(job: NewJob) -> Kind:
    limits = tuple(sorted((limit.name, limit.key) for limit in job.fenced_limits)) if job.limits else ()
    return job.queue, job.definition, job.version, limits


def _named(kinds: Sequence[Kind]) -> dict[str, list[Any]]:
    return {
        **rows.lines([Line(*kind[:3]) for kind in kinds]),
        "limits": [msgspec.json.encode(names).decode() for *_, names in kinds],
    }


def _limits(jobs: Sequence[NewJob]) -> list[Limit]:
    """The limits that jobs bring, each name with the size it came with first."""
    sizes: dict[str, int] = {}
    for job in jobs:
        for limit in job.limits:
            sizes.setdefault(limit.name, limit.size)
    named = {(limit.name, limit.key) for job in jobs for limit in job.fenced_limits}
    return [Limit(name, key, sizes[name]) for name, key in sorted(named)]
