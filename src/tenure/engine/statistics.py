"""Figures of the whole store: how many jobs are in each state, how many ended lately, and how long they took.

Counts come from running totals and are exact. The rest comes from the last ten thousand events, so that it
costs the same however much history there is; each figure says since when it is complete.
"""

import asyncio
import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from msgspec import Struct

from tenure.core.reading import End, Recent
from tenure.core.states import FINAL, State
from tenure.storage.contract import Store

FRESH = 2.0
"""Seconds for which figures answer everybody who asks."""

LATELY = timedelta(seconds=60)
PERIODS = {"hour": (timedelta(minutes=1), 60), "day": (timedelta(hours=1), 24)}
"""By its name, into how long and how many parts a period is divided."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Spread(Struct, frozen=True):
    """Of so many seconds half are not longer, and nineteen of twenty."""

    p50: float
    p95: float


class Span(Struct, frozen=True):
    """What ended from a moment on: how many by state, how long they had waited and how long they ran."""

    at: datetime
    ended: dict[State, int]
    wait_seconds: Spread | None
    run_seconds: Spread | None


class Series(Struct, frozen=True):
    """A period in parts of equal length, the last one not over yet; parts not known in full are left out."""

    period: str
    part: timedelta
    spans: Sequence[Span]


class Figures(Struct, frozen=True):
    """What is known of the whole store at a moment."""

    at: datetime
    counts: dict[State, int]
    lately: Span
    series: Sequence[Series]


class Statistics:
    """Makes figures, at most once in a while."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._making = asyncio.Lock()
        self._made: Figures | None = None
        self._made_at = -math.inf

    async def figures(self) -> Figures:
        """The figures, at most two seconds old."""
        loop = asyncio.get_running_loop()
        async with self._making:
            if self._made is None or loop.time() - self._made_at > FRESH:
                self._made = await self._make()
                self._made_at = loop.time()
            return self._made

    async def _make(self) -> Figures:
        counts = dict.fromkeys(State, 0)
        for line in await self._store.lines():
            for state, n in line.counts.items():
                counts[state] += n
        recent = await self._store.recent()
        begin = max(recent.now - LATELY, recent.since or _EPOCH)
        return Figures(
            recent.now,
            counts,
            _span(begin, [end for end in recent.ends if end.at >= begin]),
            [_series(recent, name, *parts) for name, parts in PERIODS.items()],
        )


def _series(recent: Recent, name: str, part: timedelta, parts: int) -> Series:
    last = _begin(recent.now, part)
    first = last - (parts - 1) * part
    if recent.since is not None and recent.since > first:
        first = _begin(recent.since, part) + part
    begins = [first + n * part for n in range((last - first) // part + 1)]
    ends: dict[datetime, list[End]] = {begin: [] for begin in begins}
    for end in recent.ends:
        if (begin := _begin(end.at, part)) in ends:
            ends[begin].append(end)
    return Series(name, part, [_span(begin, ended) for begin, ended in ends.items()])


def _begin(at: datetime, part: timedelta) -> datetime:
    return at - (at - _EPOCH) % part


def _span(at: datetime, ends: Sequence[End]) -> Span:
    ended = {state: sum(end.state is state for end in ends) for state in State if state in FINAL}
    return Span(
        at,
        ended,
        _spread([end.waited for end in ends if end.waited is not None]),
        _spread([end.ran for end in ends if end.ran is not None]),
    )


def _spread(times: Sequence[timedelta]) -> Spread | None:
    if not times:
        return None
    ordered = sorted(time.total_seconds() for time in times)
    half, most = (ordered[math.ceil(len(ordered) * share) - 1] for share in (0.5, 0.95))
    return Spread(half, most)
