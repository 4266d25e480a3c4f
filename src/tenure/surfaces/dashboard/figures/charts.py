"""The charts of a period: how many jobs ended, and how long they waited and ran, part by part.

What is not on record has neither bar nor line, and says so to a pointer.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from operator import attrgetter
from typing import NamedTuple

from msgspec import Struct

from tenure.core.model.states import State
from tenure.engine.figures.statistics import EndedSpan, Series
from tenure.surfaces.dashboard.figures import svg
from tenure.surfaces.dashboard.formats import figure, span

STACK: Mapping[str, tuple[str, tuple[State, ...]]] = {
    "good": ("succeeded", (State.SUCCEEDED,)),
    "bad": ("failed", (State.FAILED, State.BURIED)),
    "muted": ("cancelled", (State.CANCELLED,)),
}
"""What a bar is made of, from its foot: by tone the word for it, and the states."""


class DurationLine(NamedTuple):
    """A line of the second chart."""

    label: str
    tone: str
    is_dashed: bool
    value: Callable[[EndedSpan], float | None]


class Legend(Struct, frozen=True):
    """What a tone stands for."""

    label: str
    tone: str
    form: str = ""


class PartRow(Struct, frozen=True):
    """A part of the period in the table."""

    at: datetime
    values: Sequence[str]
    is_open: bool = False


class Drawn(Struct, frozen=True, kw_only=True):
    """A chart as it is drawn, and the same as a table, the newest part first."""

    label: str
    legend: Sequence[Legend]
    y: Sequence[str]
    x: Sequence[str]
    grid: Sequence[str]
    hits: Sequence[svg.Rect]
    rows: Sequence[PartRow]
    bars: Sequence[svg.Rect] = ()
    lines: Sequence[svg.Curve] = ()
    note: str = ""


class _Places(NamedTuple):
    """The parts of a period that are over, with what is on record of each, and the part that is not over."""

    begins: Sequence[datetime]
    known: Sequence[EndedSpan | None]
    open: EndedSpan | None


def ended_chart(series: Series, now: datetime, parts: int) -> Drawn:
    """How many jobs ended in each part, stacked by how."""
    places = _places(series, now, parts)
    stacks = [{tone: _count(known, states) for tone, (_, states) in STACK.items()} for known in places.known]
    shown = {"good", "bad", *(tone for stack in stacks for tone, n in stack.items() if n)}
    grid = svg.scale(max((sum(stack.values()) for stack in stacks), default=0), is_whole=True)
    words = [word for word, _ in STACK.values()]

    def told(known: EndedSpan | None) -> list[str]:
        return [f"{_count(known, states):,}" for _, states in STACK.values()]

    return Drawn(
        label=f"Jobs finished, {_over(series)}",
        legend=[Legend(word, tone) for tone, (word, _) in STACK.items() if tone in shown],
        y=[figure(value, 3) for value in reversed(grid)],
        x=svg.labels([_time(begin, series) for begin in places.begins]),
        grid=_lines_of(grid),
        bars=svg.bars(stacks, grid[-1]),
        hits=svg.hits(_titles(places, series, words, told)),
        rows=_rows(places, told),
        note=_idle(places, series),
    )


def duration_chart(series: Series, now: datetime, parts: int) -> Drawn:
    """How long the jobs that ended in each part had waited and run."""
    ran, waited = attrgetter("run_seconds"), attrgetter("wait_seconds")
    lines = (
        DurationLine("ran, median", "accent", False, lambda one: ran(one) and ran(one).p50),
        DurationLine("ran, 95 %", "accent", True, lambda one: ran(one) and ran(one).p95),
        DurationLine("waited, 95 %", "warn", False, lambda one: waited(one) and waited(one).p95),
    )
    places = _places(series, now, parts)
    values = [[_value(line, known) for known in places.known] for line in lines]
    grid = svg.time_scale(max(map(svg.highest, values)) or 1.0)

    def told(known: EndedSpan | None) -> list[str]:
        return [span(_value(line, known)) for line in lines]

    return Drawn(
        label=f"How long jobs ran and waited, {_over(series)}; no line where nothing ran",
        legend=[Legend(line.label, line.tone, "line dash" if line.is_dashed else "line") for line in lines],
        y=[span(value) if value else "0" for value in reversed(grid)],
        x=svg.labels([_time(begin, series) for begin in places.begins]),
        grid=_lines_of(grid),
        lines=[
            svg.line(own, grid[-1], line.tone, is_dashed=line.is_dashed)
            for line, own in zip(lines, values, strict=True)
        ],
        hits=svg.hits(_titles(places, series, [line.label for line in lines], told)),
        rows=_rows(places, told),
    )


def _places(series: Series, now: datetime, parts: int) -> _Places:
    known = {one.at: one for one in series.spans}
    last = now - (now - datetime.min.replace(tzinfo=UTC)) % series.part
    if series.spans:
        last = max(series.spans[-1].at, last)
    begins = [last - n * series.part for n in range(parts - 1, 0, -1)]
    return _Places(begins, [known.get(begin) for begin in begins], known.get(last))


def _titles(
    places: _Places, series: Series, words: Sequence[str], told: Callable[[EndedSpan | None], list[str]]
) -> list[str]:
    titles = []
    for begin, known in zip(places.begins, places.known, strict=True):
        parts = [f"{value} {word}" for value, word in zip(told(known), words, strict=True) if value]
        said = "not on record" if known is None else ", ".join(parts) or "nothing ran"
        titles.append(f"{_time(begin, series)}: {said}")
    return titles


def _rows(places: _Places, told: Callable[[EndedSpan | None], list[str]]) -> list[PartRow]:
    over = [
        PartRow(begin, told(known))
        for begin, known in zip(places.begins, places.known, strict=True)
        if known is not None
    ]
    so_far = [] if places.open is None else [PartRow(places.open.at, told(places.open), is_open=True)]
    return [*so_far, *reversed(over)]


def _idle(places: _Places, series: Series) -> str:
    """The longest time, of several parts, in which nothing ended between others in which something did."""
    if not any(places.known) and places.open is None:
        return "nothing on record yet"
    counts = [None if known is None else sum(known.ended.values()) for known in places.known]
    busy = [place for place, count in enumerate(counts) if count]
    gaps = [
        (begin + 1, end - 1)
        for begin, end in pairwise(busy)
        if end - begin > 2 and all(count == 0 for count in counts[begin + 1 : end])
    ]
    if not gaps:
        return ""
    begin, end = max(gaps, key=lambda gap: gap[1] - gap[0])
    return f"{_time(places.begins[begin], series)} to {_time(places.begins[end], series)}: nothing ended"


def _value(line: DurationLine, known: EndedSpan | None) -> float | None:
    return None if known is None else line.value(known)


def _count(known: EndedSpan | None, states: Sequence[State]) -> int:
    return 0 if known is None else sum(known.ended.get(state, 0) for state in states)


def _lines_of(grid: Sequence[float]) -> list[str]:
    return [svg.per_cent(1 - value / grid[-1]) for value in reversed(grid)]


def _time(begin: datetime, series: Series) -> str:
    there = begin.astimezone(UTC)
    return f"{there:%a %H:%M}" if series.part > timedelta(hours=1) else f"{there:%H:%M}"


def _over(series: Series) -> str:
    return {"hour": "by the minute", "day": "by the hour"}.get(series.period, f"every {span(series.part)}")
