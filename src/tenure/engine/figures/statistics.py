"""Figures of the whole store: how many jobs are in each state, how many ended lately, and how long they took.

Counts come from running totals and are exact. What ended lately comes from the last ten thousand events, so
the cost does not grow with history. Where these do not reach back far enough, the parts of a period come from
the minutes that a duty has recorded: how many ended is then exact to the time of the recording; how long they
took comes from a sample.
"""

import asyncio
import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from operator import attrgetter

from msgspec import Struct

from tenure.core.model.states import FINAL, State
from tenure.core.reports import pace
from tenure.core.reports.pace import PACE_KEPT, Lengths, Pace, Paces, Spread
from tenure.core.reports.reading import End, Filter, Recent
from tenure.storage.contract.store import Store

FRESH = 2.0
"""Seconds for which one set of figures serves all callers."""

LATELY = timedelta(seconds=60)
LATELY_OF_DAY = timedelta(minutes=30)
"""How long the time is that is compared with the same of the day before."""

PERIODS = {"hour": (timedelta(minutes=1), 60), "day": (timedelta(hours=1), 24)}
"""The length and the number of the parts of each period."""

NEAR = 12
"""A part is known if a recorded minute is within one twelfth of it after its start."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_at = attrgetter("minute")


class EndedSpan(Struct, frozen=True):
    """What ended from a time on: how many by state, how long they waited and how long they ran."""

    at: datetime
    ended: dict[State, int]
    wait_seconds: Spread | None
    run_seconds: Spread | None


class Series(Struct, frozen=True):
    """A period in parts of equal length, the last not over yet; unknown parts are left out."""

    period: str
    part: timedelta
    spans: Sequence[EndedSpan]


class StoreFigures(Struct, frozen=True):
    """The figures of the whole store at one time."""

    at: datetime
    counts: dict[State, int]
    lately: EndedSpan
    series: Sequence[Series]
    per_minute: float | None = None
    """How many jobs ended a minute, in the last half an hour; None where that is not on record."""
    per_minute_yesterday: float | None = None
    """The same, a day ago at this time."""


class Statistics:
    """Computes figures, at most every two seconds."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._computing = asyncio.Lock()
        self._figures: StoreFigures | None = None
        self._computed_at = -math.inf

    async def figures(self) -> StoreFigures:
        """The figures, at most two seconds old."""
        loop = asyncio.get_running_loop()
        async with self._computing:
            if self._figures is None or loop.time() - self._computed_at > FRESH:
                self._figures = await self._compute()
                self._computed_at = loop.time()
            return self._figures

    async def _compute(self) -> StoreFigures:
        counts = await self._store.counts(Filter())
        paces = await self._store.paces(PACE_KEPT)
        recent = await self._store.recent()
        begin = max(recent.now - LATELY, recent.since or _EPOCH)
        return StoreFigures(
            recent.now,
            {state: count.n for state, count in counts.items()},
            _span(begin, [end for end in recent.ends if end.at >= begin]),
            [series(recent, paces, name) for name in PERIODS],
            _rate(paces, recent.now),
            _rate(paces, recent.now - timedelta(days=1)),
        )


def series(recent: Recent, paces: Paces, period: str) -> Series:
    """A period, each part from the last events, or else from the recorded minutes."""
    part, parts = PERIODS[period]
    last = part_begin(recent.now, part)
    ends: dict[datetime, list[End]] = {last - n * part: [] for n in reversed(range(parts))}
    for end in recent.ends:
        if (begin := part_begin(end.at, part)) in ends:
            ends[begin].append(end)
    known: dict[datetime, EndedSpan | None] = {}
    for begin, ended in ends.items():
        is_whole = recent.since is None or recent.since <= begin
        known[begin] = _span(begin, ended) if is_whole else from_minutes(paces, begin, part, ended)
    return Series(period, part, [span for span in known.values() if span is not None])


def from_minutes(paces: Paces, begin: datetime, part: timedelta, last: Sequence[End]) -> EndedSpan | None:
    """A part, from the totals before it and after it; `last` is what the last events know of it."""
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
        waits.append(pace.histogram(end.waited for end in last if end.waited is not None))
        runs.append(pace.histogram(end.ran for end in last if end.ran is not None))
    return EndedSpan(begin, _difference(before.ended, total), _spread_of(waits), _spread_of(runs))


def _first(minutes: Sequence[Pace], begin: datetime, part: timedelta) -> Pace | None:
    """The first recorded minute from a time on, if it is near enough."""
    place = bisect_left(minutes, begin, key=_at)
    is_near = place < len(minutes) and minutes[place].minute - begin <= part / NEAR
    return minutes[place] if is_near else None


def _difference(before: Mapping[State, int], after: Mapping[State, int]) -> dict[State, int]:
    return {state: after.get(state, 0) - before.get(state, 0) for state in State if state in FINAL}


def _rate(paces: Paces, until: datetime) -> float | None:
    """How many jobs ended a minute until then, between two recorded minutes about half an hour apart."""
    first = bisect_left(paces.minutes, until - LATELY_OF_DAY, key=_at)
    last = bisect_right(paces.minutes, until, key=_at) - 1
    if first >= last or last < 0:
        return None
    begin, end = paces.minutes[first], paces.minutes[last]
    over = end.minute - begin.minute
    if over < LATELY_OF_DAY * 0.8:
        return None
    return (sum(end.ended.values()) - sum(begin.ended.values())) / (over / timedelta(minutes=1))


def part_begin(at: datetime, part: timedelta) -> datetime:
    """When the part began that a moment is in."""
    return at - (at - _EPOCH) % part


def _span(at: datetime, ends: Sequence[End]) -> EndedSpan:
    ended = {state: sum(end.state is state for end in ends) for state in State if state in FINAL}
    return EndedSpan(
        at,
        ended,
        _spread([end.waited for end in ends if end.waited is not None]),
        _spread([end.ran for end in ends if end.ran is not None]),
    )


def _spread_of(several: Iterable[Lengths]) -> Spread | None:
    lengths = pace.merged(several)
    return Spread(pace.quantile(lengths, 0.5), pace.quantile(lengths, 0.95)) if lengths else None


def _spread(times: Sequence[timedelta]) -> Spread | None:
    if not times:
        return None
    ordered = sorted(time.total_seconds() for time in times)
    p50, p95 = (ordered[math.ceil(len(ordered) * part) - 1] for part in (0.5, 0.95))
    return Spread(p50, p95)
