"""Figures of the whole store: how many jobs are in each state, how many ended lately, and how long they took.

Counts come from running totals and are exact. What ended lately comes from the last ten thousand events, so
that it costs the same however much history there is. Where they do not reach back far enough, the parts of a
period come from the minutes that somebody with duties has put on record: how many ended is exact then, to the
moment when that was; how long they took is that of a sample.
"""

import asyncio
import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from operator import attrgetter

from msgspec import Struct

from tenure.core import pace
from tenure.core.pace import PACE_KEPT, Lengths, Pace, Paces
from tenure.core.reading import End, Filter, Recent
from tenure.core.states import FINAL, State
from tenure.storage.contract import Store

FRESH = 2.0
"""Seconds for which figures answer everybody who asks."""

LATELY = timedelta(seconds=60)
PERIODS = {"hour": (timedelta(minutes=1), 60), "day": (timedelta(hours=1), 24)}
"""By its name, into how long and how many parts a period is divided."""

NEAR = 12
"""A part is known from a minute on that is no later than the twelfth part of it."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_at = attrgetter("minute")


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
    """A period in parts of equal length, the last one not over yet; parts that nobody knows are left out."""

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
        counts = await self._store.counts(Filter())
        paces = await self._store.paces(PACE_KEPT)
        recent = await self._store.recent()
        begin = max(recent.now - LATELY, recent.since or _EPOCH)
        return Figures(
            recent.now,
            {state: count.n for state, count in counts.items()},
            _span(begin, [end for end in recent.ends if end.at >= begin]),
            [series(recent, paces, name) for name in PERIODS],
        )


def series(recent: Recent, paces: Paces, period: str) -> Series:
    """A period, each part by whatever knows it: the last events, or else the minutes on record."""
    part, parts = PERIODS[period]
    last = _begin(recent.now, part)
    ends: dict[datetime, list[End]] = {last - n * part: [] for n in reversed(range(parts))}
    for end in recent.ends:
        if (begin := _begin(end.at, part)) in ends:
            ends[begin].append(end)
    known: dict[datetime, Span | None] = {}
    for begin, ended in ends.items():
        is_whole = recent.since is None or recent.since <= begin
        known[begin] = _span(begin, ended) if is_whole else _from_minutes(paces, begin, part, ended)
    return Series(period, part, [span for span in known.values() if span is not None])


def _from_minutes(paces: Paces, begin: datetime, part: timedelta, last: Sequence[End]) -> Span | None:
    """A part by what had ended before it and after it; `last` is what the last events tell of it."""
    until = begin + part
    before, after = _first(paces.minutes, begin, part), _first(paces.minutes, until, part)
    is_open = paces.now < until
    if before is None or (after is None and not is_open):
        return None
    total = paces.ended if after is None else after.ended
    low, high = (bisect_right(paces.minutes, moment, key=_at) for moment in (begin, until))
    minutes = paces.minutes[low:high]
    waits, runs = [one.waits for one in minutes], [one.runs for one in minutes]
    if is_open:
        waits.append(pace.sorted_out(end.waited for end in last if end.waited is not None))
        runs.append(pace.sorted_out(end.ran for end in last if end.ran is not None))
    return Span(begin, _difference(before.ended, total), _spread_of(waits), _spread_of(runs))


def _first(minutes: Sequence[Pace], begin: datetime, part: timedelta) -> Pace | None:
    """The first minute on record from a moment on, if it is near enough."""
    place = bisect_left(minutes, begin, key=_at)
    is_near = place < len(minutes) and minutes[place].minute - begin <= part / NEAR
    return minutes[place] if is_near else None


def _difference(before: Mapping[State, int], after: Mapping[State, int]) -> dict[State, int]:
    return {state: after.get(state, 0) - before.get(state, 0) for state in State if state in FINAL}


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


def _spread_of(several: Iterable[Lengths]) -> Spread | None:
    lengths = pace.put_together(several)
    return Spread(pace.not_longer(lengths, 0.5), pace.not_longer(lengths, 0.95)) if lengths else None


def _spread(times: Sequence[timedelta]) -> Spread | None:
    if not times:
        return None
    ordered = sorted(time.total_seconds() for time in times)
    half, most = (ordered[math.ceil(len(ordered) * share) - 1] for share in (0.5, 0.95))
    return Spread(half, most)
