"""What an operator should look after, put together from a few bounded readings."""

import asyncio
import math
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import TypeVar

from msgspec import Struct

from tenure.core.aside import Aside
from tenure.core.failures import Count, Struggling
from tenure.core.lease import Line
from tenure.core.operations import LineStatus, Pause, WorkerStatus
from tenure.core.states import State
from tenure.storage.contract import Store

FRESH = 2.0
"""Seconds for which an answer serves everybody who asks."""

LATELY = timedelta(hours=1)
"""How long a dead letter is news."""

MOST_NAMED = 20
"""How much of each kind is named; the rest is only counted."""

Held = TypeVar("Held", "PausedQueue", "Unserved")


class Waiting(Struct, frozen=True):
    """The job that has stood in line longest, where it may be claimed: where it stands and since when."""

    line: Line
    since: datetime


class PausedQueue(Struct, frozen=True):
    """A queue, or part of it, from which nothing is claimed, and in which jobs stand."""

    queue: str
    jobs: int
    oldest: datetime | None
    pause: Pause


class Unserved(Struct, frozen=True):
    """A line in which jobs stand, and that no live worker serves."""

    line: Line
    jobs: int
    oldest: datetime | None


class Attention(Struct, frozen=True, kw_only=True):
    """What needs somebody. Of each kind the largest are named, and all are counted (`…_in_all`).

    `silent` are workers that were neither seen lately nor dismissed; `struggling` are jobs that failed
    three times and more and wait for their next attempt; `overdue` is how many jobs have a lease that ran out
    and are still their worker's; `dead` is how many dead letters there are of the last hour; `aside` are jobs
    that the database refuses to move.
    """

    at: datetime
    oldest: Waiting | None
    paused: Sequence[PausedQueue]
    paused_in_all: int
    unserved: Sequence[Unserved]
    unserved_in_all: int
    silent: Sequence[WorkerStatus]
    silent_in_all: int
    struggling: Sequence[Struggling]
    overdue: int
    dead: Count
    aside: Sequence[Aside] = ()
    aside_in_all: int = 0

    @property
    def is_calm(self) -> bool:
        """Whether nothing needs anybody; that jobs wait is no trouble by itself."""
        named = (self.paused, self.unserved, self.silent, self.struggling, self.aside)
        return not any(named) and not self.overdue and not self.dead.n


class Lookout:
    """Looks, at most once in a while."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._looking = asyncio.Lock()
        self._seen: Attention | None = None
        self._seen_at = -math.inf

    async def look(self) -> Attention:
        """What needs attention, as it was two seconds ago at most."""
        loop = asyncio.get_running_loop()
        async with self._looking:
            if self._seen is None or loop.time() - self._seen_at > FRESH:
                self._seen = await self._look()
                self._seen_at = loop.time()
            return self._seen

    async def _look(self) -> Attention:
        trouble = await self._store.trouble(LATELY)
        aside = await self._store.asides(limit=MOST_NAMED)
        filled = [line for line in await self._store.lines() if line.counts.get(State.QUEUED)]
        silent = [worker for worker in await self._store.workers() if not worker.is_alive]
        paused = _paused(line for line in filled if line.pause is not None)
        unserved = [Unserved(line.line, _jobs(line), line.oldest) for line in filled if not line.workers]
        waiting = [
            Waiting(line.line, line.oldest)
            for line in filled
            if line.pause is None and line.oldest is not None
        ]
        return Attention(
            at=trouble.at,
            oldest=min(waiting, key=lambda one: one.since, default=None),
            paused=_largest(paused),
            paused_in_all=len(paused),
            unserved=_largest(unserved),
            unserved_in_all=len(unserved),
            silent=sorted(silent, key=lambda worker: worker.seen_at, reverse=True)[:MOST_NAMED],
            silent_in_all=len(silent),
            struggling=trouble.struggling,
            overdue=trouble.overdue,
            dead=trouble.dead,
            aside=aside.jobs,
            aside_in_all=aside.in_all,
        )


def _paused(lines: Iterable[LineStatus]) -> list[PausedQueue]:
    """Lines that one pause holds, taken together."""
    held: dict[tuple[str, Pause], list[LineStatus]] = {}
    for line in lines:
        if line.pause is not None:
            held.setdefault((line.line.queue, line.pause), []).append(line)
    return [
        PausedQueue(
            queue,
            sum(map(_jobs, own)),
            min((line.oldest for line in own if line.oldest is not None), default=None),
            pause,
        )
        for (queue, pause), own in held.items()
    ]


def _largest(held: list[Held]) -> list[Held]:
    return sorted(held, key=lambda one: one.jobs, reverse=True)[:MOST_NAMED]


def _jobs(line: LineStatus) -> int:
    return line.counts.get(State.QUEUED, 0)
