"""How fast jobs end, minute by minute: for charts that go further back than the last events.

Durations are kept as histograms, so that those of many minutes can be merged: the bound of each class is a
fifth above the one before.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from tenure.core.model.states import State

PACE_KEPT = timedelta(hours=25)
"""How long a minute is kept."""

_CLASSES_PER_DOUBLING = 4
_MILLISECOND = timedelta(milliseconds=1)

Lengths = Mapping[int, int]
"""A histogram of durations: how many there are in each class."""


class Spread(Struct, frozen=True):
    """Percentiles of durations, in seconds."""

    p50: float
    p95: float


class Pace(Struct, frozen=True):
    """How many jobs had ever ended by a minute, and how long those that ended in it had waited and run.

    `waits` and `runs` cover the jobs of that one minute, as far as they were read.
    """

    minute: datetime
    ended: Mapping[State, int]
    waits: Lengths
    runs: Lengths


class Paces(Struct, frozen=True):
    """The recorded minutes, the oldest first, and how many jobs have ended until now."""

    now: datetime
    ended: Mapping[State, int]
    minutes: Sequence[Pace]


def histogram(lengths: Iterable[timedelta]) -> dict[int, int]:
    """A histogram of durations."""
    return dict(
        Counter(
            int(_CLASSES_PER_DOUBLING * math.log2(1 + max(one, timedelta(0)) / _MILLISECOND))
            for one in lengths
        )
    )


def merged(several: Iterable[Lengths]) -> Lengths:
    """Several histograms as one."""
    total: Counter[int] = Counter()
    for one in several:
        total.update(one)
    return total


def quantile(lengths: Lengths, share: float) -> float:
    """The quantile `share` of a histogram, in seconds; at most a fifth too long."""
    rest = math.ceil(sum(lengths.values()) * share)
    for kind in sorted(lengths):
        rest -= lengths[kind]
        if rest <= 0:
            break
    return round((2 ** ((kind + 1) / _CLASSES_PER_DOUBLING) - 1) / 1000, 3)
