"""Counters, gauges and histograms that cost the event loop next to nothing, and never grow without bound.

They count in plain numbers, on the event loop's own thread, and take no locks. What stands in them is copied
for a scrape and written out elsewhere. A family has at most so many series; what comes later is counted
together, under `other` for each of its labels.
"""

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from typing import Literal, NamedTuple

OTHER = "other"
MOST_SERIES = 1000
"""How many series a family has at most, those under `other` apart."""

LONGEST_VALUE = 200
"""The most characters of a label's value."""

Labels = tuple[str, ...]
Kind = Literal["counter", "gauge", "histogram"]


class Taken(NamedTuple):
    """A family as it stood when it was copied; a histogram's numbers are its cells, and last their sum."""

    name: str
    text: str
    kind: Kind
    labels: Labels
    bounds: Sequence[float]
    series: Sequence[tuple[Labels, Sequence[float]]]


class Names:
    """The first so many names are known by themselves, all others as one: the same in every family."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: dict[str, str] = {}

    def of(self, name: str) -> str:
        """The name under which something is counted."""
        known = self._known.get(name)
        if known is None:
            if len(self._known) >= self._most:
                return OTHER
            known = self._known[name] = name
        return known

    @property
    def known(self) -> Collection[str]:
        """Those that are known by themselves."""
        return self._known


class Counter:
    """Only ever grows."""

    def __init__(self, name: str, text: str, *labels: str) -> None:
        self.name = name
        self._text = text
        self._labels = labels
        self._values: dict[Labels, float] = {} if labels else {(): 0}

    def add(self, labels: Labels = (), amount: float = 1) -> None:
        """Count something."""
        values = self._values
        if labels not in values:
            labels = admitted(labels, values)
            values.setdefault(labels, 0)
        values[labels] += amount

    def reach(self, total: float) -> None:
        """Be what somebody else has counted."""
        self._values[()] = total

    def taken(self) -> Taken:
        """A copy."""
        series = [(labels, (value,)) for labels, value in self._values.items()]
        return Taken(self.name, self._text, "counter", self._labels, (), series)


class Gauge:
    """Set as a whole, whenever somebody looks."""

    def __init__(self, name: str, text: str, *labels: str) -> None:
        self.name = name
        self._text = text
        self._labels = labels
        self._values: Mapping[Labels, float] = {}

    def set(self, values: Mapping[Labels, float]) -> None:
        """Forget what was, and be this; what is beyond the bound is added up."""
        bounded: dict[Labels, float] = {}
        for labels, value in values.items():
            under = admitted(labels, bounded)
            bounded[under] = bounded.get(under, 0) + value
        self._values = bounded

    def taken(self) -> Taken:
        """A copy."""
        series = [(labels, (value,)) for labels, value in self._values.items()]
        return Taken(self.name, self._text, "gauge", self._labels, (), series)


class Histogram:
    """Counts values by size; `bounds` are the upper ends of its buckets, without the endless one."""

    def __init__(self, name: str, text: str, *labels: str, bounds: Sequence[float]) -> None:
        self.name = name
        self._text = text
        self._labels = labels
        self._bounds = tuple(bounds)
        self._cells: dict[Labels, list[float]] = {}
        if not labels:
            self._opened(())

    def observe(self, labels: Labels, value: float) -> None:
        """Count a value."""
        cells = self._cells.get(labels) or self._opened(labels)
        cells[bisect_left(self._bounds, value)] += 1
        cells[-1] += value

    def taken(self) -> Taken:
        """A copy."""
        series = [(labels, tuple(cells)) for labels, cells in self._cells.items()]
        return Taken(self.name, self._text, "histogram", self._labels, self._bounds, series)

    def _opened(self, labels: Labels) -> list[float]:
        labels = admitted(labels, self._cells)
        return self._cells.setdefault(labels, [0] * (len(self._bounds) + 1) + [0.0])


Instrument = Counter | Gauge | Histogram


def admitted(labels: Labels, known: Mapping[Labels, object]) -> Labels:
    """The labels under which something is counted that was asked for under these."""
    if labels in known:
        return labels
    cut = tuple(value[:LONGEST_VALUE] for value in labels)
    return cut if cut in known or len(known) < MOST_SERIES else (OTHER,) * len(labels)
