"""Where bars, lines and marks stand in a drawing whose lengths are all per cent.

One drawing fits every width, prints, and needs neither a script nor a `viewBox`. Nothing is drawn where
nothing happened: no bar for a zero, and a line breaks where a value is missing.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from msgspec import Struct

_GAP = 0.3
"""The part of a bar's place that stays free beside it."""

_LEAST = 0.02
"""The least height of a bar: one of many thousands must still be seen."""


class Rect(Struct, frozen=True):
    """A bar; `title` is what a pointer over it is told, `form` how it is drawn besides its tone."""

    x: str
    y: str
    width: str
    height: str
    tone: str = ""
    title: str = ""
    form: str = ""


class Segment(Struct, frozen=True):
    """A straight part of a line."""

    x1: str
    y1: str
    x2: str
    y2: str


class Dot(Struct, frozen=True):
    """A value without neighbours, which no line could show."""

    x: str
    y: str


class Curve(Struct, frozen=True):
    """A line with its gaps."""

    tone: str
    segments: Sequence[Segment]
    dots: Sequence[Dot]
    is_dashed: bool = False


def per_cent(share: float) -> str:
    """A part of the room, to a hundredth of a per cent."""
    return f"{round(100 * share, 2):g}%"


def scale(most: float, parts: int = 3, *, is_whole: bool = False) -> list[float]:
    """Round values for the lines of a grid, from 0 to at least `most`."""
    step = max(most, 1 if is_whole else 1e-9) / parts
    power = 10.0 ** math.floor(math.log10(step))
    wanted = next(
        power * lead for lead in (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10) if power * lead >= step * 0.999
    )
    round_step = math.ceil(wanted) if is_whole else wanted
    return [round_step * place for place in range(parts + 1)]


def time_scale(most: float, parts: int = 3) -> list[float]:
    """The same for seconds, at times that people name: 8 and 16 minutes, not 500 and 1,000 seconds."""
    unit = next((unit for unit in (86_400, 3_600, 60) if most >= 2 * unit), 1)
    return [unit * value for value in scale(most / unit, parts, is_whole=unit > 1)]


def bars(places: Sequence[Mapping[str, float]], top: float) -> list[Rect]:
    """A stack in each place: values by tone, the first at the bottom."""
    drawn = []
    for place, stack in enumerate(places):
        under = 0.0
        for tone, value in stack.items():
            if value > 0:
                height = max(value / top, _LEAST)
                under += height
                drawn.append(_bar(place, len(places), 1 - under, height, tone))
    return drawn


def spark(values: Sequence[float], tone: str) -> list[Rect]:
    """A bar a value, as high as it is against the highest."""
    return bars([{tone: value} for value in values], max(values, default=0) or 1)


def line(values: Sequence[float | None], top: float, tone: str, *, is_dashed: bool = False) -> Curve:
    """A line through the middles of the places; it breaks where a value is missing."""
    points = [
        None if value is None else ((place + 0.5) / len(values), 1 - value / top)
        for place, value in enumerate(values)
    ]
    segments = [
        Segment(*(per_cent(one) for one in (*begin, *end)))
        for begin, end in pairwise(points)
        if begin is not None and end is not None
    ]
    padded = [None, *points, None]
    dots = [
        Dot(*map(per_cent, at))
        for before, at, after in zip(padded, padded[1:], padded[2:], strict=False)
        if at is not None and before is None and after is None
    ]
    return Curve(tone, segments, dots, is_dashed)


def hits(titles: Sequence[str]) -> list[Rect]:
    """Invisible bars of full height, one a place, which tell a pointer what stands there."""
    width = 1 / max(len(titles), 1)
    return [
        Rect(per_cent(place * width), "0", per_cent(width), "100%", title=title)
        for place, title in enumerate(titles)
    ]


def meter(share: float) -> Rect:
    """A part of a whole."""
    return Rect("0", "0", per_cent(min(max(share, 0), 1)), "100%")


class Run(Struct, frozen=True):
    """A run to be drawn as a tick: its tone, its height from 0 to 1, and whether it only should have been."""

    tone: str
    height: float = 0.7
    is_hollow: bool = False


def ticks(runs: Sequence[Run], places: int) -> list[Rect]:
    """A bar a run, the newest at the right; places without a run stay empty."""
    shown = runs[-places:]
    first = places - len(shown)
    return [
        _bar(first + n, places, 1 - run.height, run.height, run.tone, "hollow" if run.is_hollow else "")
        for n, run in enumerate(shown)
    ]


def labels(texts: Sequence[str], most: int = 6) -> list[str]:
    """So many of the texts, evenly chosen, with the first and the last."""
    if len(texts) <= most:
        return list(texts)
    return [texts[round(n * (len(texts) - 1) / (most - 1))] for n in range(most)]


def highest(values: Iterable[float | None]) -> float:
    """The highest of the values that are there, or 0."""
    return max((value for value in values if value is not None), default=0.0)


def _bar(place: int, places: int, y: float, height: float, tone: str, form: str = "") -> Rect:
    width = 1 / places
    return Rect(
        per_cent((place + _GAP / 2) * width),
        per_cent(max(y, 0)),
        per_cent(width * (1 - _GAP)),
        per_cent(min(height, 1)),
        tone,
        form=form,
    )
