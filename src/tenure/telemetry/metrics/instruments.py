"""Counters, gauges and histograms that cost the event loop almost nothing, and never grow without bound.

They count in plain numbers, on the event loop's own thread, without locks. A scrape copies them, and another
thread writes the text. The number of series of a family is bounded; what exceeds it is counted together, with
`other` as the value of each label.
"""

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from typing import Literal, NamedTuple

OTHER = "other"
MOST_SERIES = 1000
"""The most series of a family, besides those under `other`."""

LONGEST_VALUE = 200
"""The most characters of a label's value."""

Labels = tuple[str, ...]
Kind = Literal["counter", "gauge", "histogram"]


class FamilySnapshot(NamedTuple):
    """A copy of a family; the numbers of a histogram are its cells, followed by the sum of all values."""

    name: str
    text: str
    kind: Kind
    labels: Labels
    bounds: Sequence[float]
    series: Sequence[tuple[Labels, Sequence[float]]]


class Names:
    """The first `most` names keep their own label, all others share one: the same in every family."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: dict[str, str] = {}

    def of(self, name: str) -> str:
        """The label for a name."""
        known = self._known.get(name)
        if known is None:
            if len(self._known) >= self._most:
                return OTHER
            known = self._known[name] = name
        return known

    @property
    def known(self) -> Collection[str]:
        """The names that have their own label."""
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
            labels = bounded(labels, values)
            values.setdefault(labels, 0)
        values[labels] += amount

    def set_total(self, total: float) -> None:
        """Take over a total that was counted elsewhere."""
        self._values[()] = total

    def snapshot(self) -> FamilySnapshot:
        """A copy."""
        series = [(labels, (value,)) for labels, value in self._values.items()]
        return FamilySnapshot(self.name, self._text, "counter", self._labels, (), series)


class Gauge:
    """Set as a whole, at each scrape."""

    def __init__(self, name: str, text: str, *labels: str) -> None:
        self.name = name
        self._text = text
        self._labels = labels
        self._values: Mapping[Labels, float] = {}

    def set(self, values: Mapping[Labels, float]) -> None:
        """Replace all values; those beyond the bound are added up."""
        sums: dict[Labels, float] = {}
        for labels, value in values.items():
            under = bounded(labels, sums)
            sums[under] = sums.get(under, 0) + value
        self._values = sums

    def snapshot(self) -> FamilySnapshot:
        """A copy."""
        series = [(labels, (value,)) for labels, value in self._values.items()]
        return FamilySnapshot(self.name, self._text, "gauge", self._labels, (), series)


class Histogram:
    """Counts values by size; `bounds` are the upper ends of its buckets, without infinity."""

    def __init__(self, name: str, text: str, *labels: str, bounds: Sequence[float]) -> None:
        self.name = name
        self._text = text
        self._labels = labels
        self._bounds = tuple(bounds)
        self._cells: dict[Labels, list[float]] = {}
        if not labels:
            self._open(())

    def observe(self, labels: Labels, value: float) -> None:
        """Count a value."""
        cells = self._cells.get(labels) or self._open(labels)
        cells[bisect_left(self._bounds, value)] += 1
        cells[-1] += value

    def snapshot(self) -> FamilySnapshot:
        """A copy."""
        series = [(labels, tuple(cells)) for labels, cells in self._cells.items()]
        return FamilySnapshot(self.name, self._text, "histogram", self._labels, self._bounds, series)

    def _open(self, labels: Labels) -> list[float]:
        labels = bounded(labels, self._cells)
        return self._cells.setdefault(labels, [0] * (len(self._bounds) + 1) + [0.0])


Instrument = Counter | Gauge | Histogram


def bounded(labels: Labels, known: Mapping[Labels, object]) -> Labels:
    """The labels to count under, for these labels: cut, or `other` if there are too many series."""
    if labels in known:
        return labels
    cut = tuple(value[:LONGEST_VALUE] for value in labels)
    return cut if cut in known or len(known) < MOST_SERIES else (OTHER,) * len(labels)
