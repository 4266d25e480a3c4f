"""What definitions did in some time, and what is usual: from the minutes and hours that a duty records.

A minute or an hour that no duty has recorded is not known, and is not made up.
"""

import asyncio
import math
from collections.abc import Callable, Coroutine, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct

from tenure.core.model.states import DEAD_LETTERS, FINAL, State
from tenure.core.reports import pace
from tenure.core.reports.pace import ALL, DefinitionPace, DetailedPace, Pace, Paces, Spread
from tenure.engine.figures.statistics import EndedSpan, Series, from_minutes, part_begin
from tenure.storage.contract.store import Store

FRESH = 10.0
"""Seconds for which one reading of the minutes serves all callers."""

HOURS_FRESH = 60.0

MINUTE = timedelta(minutes=1)
HOUR, DAY, WEEK = timedelta(hours=1), timedelta(days=1), timedelta(days=7)
WEEK_PART = timedelta(hours=3)
LEAST_USUAL = 24
"""Of how many hours there must be figures before they are called usual."""


class DefinitionFigures(Struct, frozen=True, kw_only=True):
    """What a definition did: how many jobs ended by state, and how long these waited and ran."""

    definition: str
    ended: dict[State, int]
    waited: Spread | None
    ran: Spread | None

    @property
    def jobs(self) -> int:
        """How many jobs ended."""
        return sum(self.ended.values())

    @property
    def failed(self) -> float:
        """Which part of them ended as dead letters."""
        return sum(self.ended.get(state, 0) for state in DEAD_LETTERS) / self.jobs if self.jobs else 0.0


class DefinitionTrends(Struct, frozen=True):
    """The definitions with most jobs, those first; unless `is_whole`, from a sample."""

    definitions: Sequence[DefinitionFigures]
    is_whole: bool


class Standing(Struct, frozen=True):
    """How many jobs waited and ran at a minute."""

    at: datetime
    waiting: int
    running: int


class DefinitionTrend(Struct, frozen=True, kw_only=True):
    """What one definition did in a period, part by part and in all. What is not on record is left out.

    `usual_failures` is which part of its jobs ended as dead letters in the last week, once that is known.
    """

    series: Series
    figures: DefinitionFigures | None
    usual_failures: float | None
    is_whole: bool


class _Reading:
    """What was read last, and when."""

    def __init__(self, fresh: float, read: Callable[[], Coroutine[Any, Any, list[DetailedPace]]]) -> None:
        self._fresh = fresh
        self._read = read
        self._reading = asyncio.Lock()
        self._rows: list[DetailedPace] = []
        self._read_at = -math.inf

    async def rows(self) -> list[DetailedPace]:
        loop = asyncio.get_running_loop()
        async with self._reading:
            if loop.time() - self._read_at > self._fresh:
                self._rows = await self._read()
                self._read_at = loop.time()
            return self._rows


class Trends:
    """Figures of definitions and of the last week."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._minutes = _Reading(FRESH, lambda: store.pace_details(HOUR, by_hour=False))
        self._hours = _Reading(HOURS_FRESH, lambda: store.pace_details(WEEK + WEEK_PART, by_hour=True))

    async def of_definitions(self, period: str) -> DefinitionTrends:
        """The figures of each definition in the last `hour`, `day` or `week`."""
        minutes = await self._minutes.rows()
        if period == "hour" or not (hours := await self._hours.rows()):
            return _trends([one.detail for one in minutes])
        since = await self._store.now() - (DAY if period == "day" else WEEK)
        parts = [one.detail for one in hours if one.minute > since]
        # An hour that was noted on its very end has that minute in it, one that was noted later has not.
        begin = hours[-1].minute.replace(minute=0)
        return _trends(parts + [one.detail for one in minutes if one.minute > begin])

    async def standings(self) -> list[Standing]:
        """How many jobs waited and ran, minute by minute of the last hour."""
        return [
            Standing(one.minute, one.detail.waiting, one.detail.running) for one in await self._minutes.rows()
        ]

    async def of_definition(self, definition: str, period: str) -> DefinitionTrend:
        """What one definition did in the last `hour`, `day` or `week`, and what is usual."""
        now, minutes, hours = await self._store.now(), await self._minutes.rows(), await self._hours.rows()
        this_hour = [one for one in minutes if not hours or one.minute > hours[-1].minute]
        parts = {part_begin(one.minute, HOUR) - HOUR: [one.detail] for one in hours}
        if this_hour:
            parts[part_begin(now, HOUR)] = [one.detail for one in this_hour]
        length = HOUR
        if period == "hour":
            length, parts = MINUTE, {one.minute - MINUTE: [one.detail] for one in minutes}
        elif period == "week":
            length, parts = WEEK_PART, _regrouped(parts, WEEK_PART)
        since = now - {"hour": HOUR, "day": DAY, "week": WEEK}[period]
        known = {at: pace.detail_joined(own) for at, own in sorted(parts.items()) if at >= since - length}
        figures = {at: one.of.get(definition) for at, one in known.items() if _tells_of(one, definition)}
        whole = pace.joined(one for one in figures.values() if one is not None)
        return DefinitionTrend(
            series=Series(period, length, [_span(at, one) for at, one in figures.items()]),
            figures=_figures(definition, whole) if whole.ended else None,
            usual_failures=_usual(hours, definition),
            is_whole=all(one.is_whole for one in known.values()),
        )

    async def has_ended(self) -> bool:
        """Whether any job has ever ended, even if none is kept."""
        return any((await self._store.paces(timedelta())).ended.values())

    async def usual_failures(self) -> float | None:
        """Which part of all jobs ended as dead letters in the last week; None before there is a day of it."""
        whole = [one.detail.of[ALL] for one in await self._hours.rows() if ALL in one.detail.of]
        if len(whole) < LEAST_USUAL:
            return None
        return _figures(ALL, pace.joined(whole)).failed

    async def week(self) -> Series:
        """The last week in parts of three hours; what is not on record is left out."""
        now = await self._store.now()
        hours = await self._hours.rows()
        nothing = DefinitionPace({}, {}, {})
        minutes = []
        for one in hours:
            whole = one.detail.of.get(ALL, nothing)
            minutes.append(Pace(one.minute, one.ended, whole.waits, whole.runs))
        known = Paces(now, hours[-1].ended if hours else {}, minutes)
        last = part_begin(now, WEEK_PART)
        begins = [last - n * WEEK_PART for n in reversed(range(WEEK // WEEK_PART))]
        spans = [from_minutes(known, begin, WEEK_PART, ()) for begin in begins]
        return Series("week", WEEK_PART, [span for span in spans if isinstance(span, EndedSpan)])


def _regrouped(
    parts: Mapping[datetime, list[pace.PaceDetail]], length: timedelta
) -> dict[datetime, list[pace.PaceDetail]]:
    """The same in longer parts."""
    found: dict[datetime, list[pace.PaceDetail]] = {}
    for at, own in sorted(parts.items()):
        found.setdefault(part_begin(at, length), []).extend(own)
    return found


def _tells_of(known: pace.PaceDetail, definition: str) -> bool:
    """Whether it is known what the definition did: of very many, only the busiest are on record."""
    return definition in known.of or len(known.of) <= pace.MOST_DEFINITIONS


def _span(at: datetime, known: DefinitionPace | None) -> EndedSpan:
    one = known or DefinitionPace({}, {}, {})
    return EndedSpan(at, {**dict.fromkeys(FINAL, 0), **one.ended}, _spread(one.waits), _spread(one.runs))


def _usual(hours: Sequence[DetailedPace], definition: str) -> float | None:
    if len(hours) < LEAST_USUAL:
        return None
    whole = pace.joined(one.detail.of[definition] for one in hours if definition in one.detail.of)
    return _figures(definition, whole).failed if whole.ended else None


def _trends(details: Sequence[pace.PaceDetail]) -> DefinitionTrends:
    if not details:
        return DefinitionTrends([], is_whole=True)
    whole = pace.detail_joined(details)
    return DefinitionTrends(
        [_figures(name, one) for name, one in whole.of.items() if name != ALL], whole.is_whole
    )


def _figures(name: str, known: DefinitionPace) -> DefinitionFigures:
    return DefinitionFigures(
        definition=name, ended=dict(known.ended), waited=_spread(known.waits), ran=_spread(known.runs)
    )


def _spread(lengths: pace.Lengths) -> Spread | None:
    return Spread(pace.quantile(lengths, 0.5), pace.quantile(lengths, 0.95)) if lengths else None
