"""Schedules that fire together on PostgreSQL: three statements and the jobs, in one transaction."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any
from uuid import UUID

import asyncpg

from tenure.core.model.job import Enqueued, NewJob
from tenure.core.model.states import State
from tenure.core.schedule.schedule import DueTick, Firing
from tenure.core.values.text import storable
from tenure.storage.postgres import rows
from tenure.storage.postgres.verbs.creation import PATIENCE, Run


class Volley:
    """What fires together, and which of it did. A transaction that is tried again begins anew."""

    def __init__(self, firings: Sequence[Firing]) -> None:
        """The jobs of the ticks must have ids."""
        self._firings = firings
        self._moved: set[tuple[str, str]] = set()
        self.jobs = [tick.job for _, tick in _ticks(firings) if tick.job is not None]
        self.made: list[NewJob] = []

    @property
    def made_ids(self) -> list[UUID]:
        """The ids of the jobs that were recorded."""
        return [job.id for job in self.made if job.id is not None]

    async def fire(self, run: Run, lines: Mapping[UUID | None, int]) -> list[asyncpg.Record]:
        """Move what is as it was read, note its ticks, and record the jobs of those that are new."""
        moved = await run("fire.move", **_moves(self._firings))
        self._moved = {(row["namespace"], row["name"]) for row in moved}
        going = [one for one in self._firings if (one.namespace, one.schedule) in self._moved]
        self.made = []
        if not going:
            return []
        await run("fire.close", **_names(going))
        noted = {row["job"] for row in await run("fire.ticks", **_columns(going))}
        self.made = [job for job in self.jobs if job.id in noted]
        counted = {(row["namespace"], row["name"]) for row in moved if row["is_counted"]}
        if counts := [one for one in going if (one.namespace, one.schedule) in counted]:
            await run("fire.count", **_names(counts), made=[_jobs_among(one, noted) for one in counts])
        if not self.made:
            return []
        at = [lines[job.id] for job in self.made]
        return await run("enqueue.record", **rows.new_jobs(self.made, self.made_ids, at, PATIENCE))

    def answers(self, recorded: Mapping[int, State]) -> list[list[Enqueued] | None]:
        """By schedule: the jobs that were made, or None; given the states of the jobs by their positions."""
        fresh = {
            job: Enqueued(job, recorded[place], fresh=True) for place, job in enumerate(self.made_ids, 1)
        }
        return [
            [fresh[tick.job.id] for tick in one.ticks if tick.job and tick.job.id and tick.job.id in fresh]
            if (one.namespace, one.schedule) in self._moved
            else None
            for one in self._firings
        ]


def _ticks(firings: Sequence[Firing]) -> list[tuple[Firing, DueTick]]:
    return [(firing, tick) for firing in firings for tick in firing.ticks]


def _jobs_among(firing: Firing, noted: Collection[UUID | None]) -> int:
    return sum(tick.job is not None and tick.job.id in noted for tick in firing.ticks)


def _names(firings: Sequence[Firing]) -> dict[str, Any]:
    return {
        "namespaces": [one.namespace for one in firings],
        "schedules": [one.schedule for one in firings],
    }


def _moves(firings: Sequence[Firing]) -> dict[str, Any]:
    return {
        **_names(firings),
        "revisions": [one.revision for one in firings],
        "expected": [one.expected for one in firings],
        "next_ats": [one.next_at for one in firings],
        "last_ats": [one.last_at for one in firings],
        "last_outcomes": [one.last_outcome for one in firings],
    }


def _columns(firings: Sequence[Firing]) -> dict[str, Any]:
    ticks = _ticks(firings)
    return {
        **_names([firing for firing, _ in ticks]),
        "ats": [tick.at for _, tick in ticks],
        "outcomes": [tick.outcome.value for _, tick in ticks],
        "jobs": [tick.job and tick.job.id for _, tick in ticks],
        "counts": [tick.count for _, tick in ticks],
        "untils": [tick.until for _, tick in ticks],
        "problems": [tick.problem and storable(tick.problem) for _, tick in ticks],
        "open": [tick.job is not None and firing.tracks_jobs for firing, tick in ticks],
    }
