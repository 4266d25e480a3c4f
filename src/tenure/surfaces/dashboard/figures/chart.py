"""A chart as templates draw it: its scale, its bars or lines, and what a pointer over each place is told."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from msgspec import Struct

from tenure.surfaces.dashboard.figures import svg
from tenure.surfaces.dashboard.formats import span

PARTS = 3
"""Lines of the grid above zero."""


class Chart(Struct, frozen=True, kw_only=True):
    """What the macro `chart` draws; `titles` by place are the same as text, for a table."""

    label: str
    y: Sequence[str]
    x: Sequence[str]
    grid: Sequence[str]
    bars: Sequence[svg.Rect] = ()
    lines: Sequence[svg.Curve] = ()
    hits: Sequence[svg.Rect] = ()


def of_counts(
    label: str, places: Sequence[Mapping[str, float]], when: Sequence[str], titles: Sequence[str]
) -> Chart:
    """Stacked bars of whole numbers, by tone."""
    grid = svg.scale(max((sum(stack.values()) for stack in places), default=0), PARTS, is_whole=True)
    return Chart(
        label=label,
        y=[f"{value:,.0f}" for value in reversed(grid)],
        x=svg.labels(when, 5),
        grid=_lines(),
        bars=svg.bars(places, grid[-1]),
        hits=svg.hits(titles),
    )


def of_lengths(
    label: str,
    lines: Sequence[tuple[str, bool, Sequence[float | None]]],
    when: Sequence[str],
    titles: Sequence[str],
) -> Chart:
    """Lines of durations in seconds: their tone, whether they are dashed, and their values."""
    grid = svg.scale(svg.highest(value for _, _, values in lines for value in values), PARTS)
    return Chart(
        label=label,
        y=[span(value) if value else "0" for value in reversed(grid)],
        x=svg.labels(when, 5),
        grid=_lines(),
        lines=[svg.line(values, grid[-1], tone, is_dashed=dashed) for tone, dashed, values in lines],
        hits=svg.hits(titles),
    )


def clock_labels(times: Sequence[datetime]) -> list[str]:
    """Times as an axis names them: with the day where they are of several days."""
    several = len({at.date() for at in times}) > 1
    return [at.strftime("%a %H:%M" if several else "%H:%M") for at in times]


def _lines() -> list[str]:
    return [svg.per_cent(place / PARTS) for place in range(PARTS + 1)]
