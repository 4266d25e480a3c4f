"""How fast jobs end, minute by minute and hour by hour: for charts that go further back than the last events.

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

HOURS_KEPT = timedelta(days=8)
"""How long the first minute of an hour is kept, which has the figures of the hour before."""

MOST_DEFINITIONS = 100
"""Of how many definitions a minute or an hour has figures: of those with most jobs."""

ALL = ""
"""Stands for all definitions together."""

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


class DefinitionPace(Struct, frozen=True):
    """How many jobs of a definition ended in some time, by state, and how long these had waited and run."""

    ended: Mapping[State, int]
    waits: Lengths
    runs: Lengths


class PaceDetail(Struct, frozen=True, kw_only=True):
    """What some time says beyond its totals: the figures of definitions, and under `ALL` of all of them.

    `waiting` and `running` are how many jobs did so at its end. Unless `is_whole`, the figures are from a
    sample, whose counts are scaled up to all that ended.
    """

    waiting: int
    running: int
    of: Mapping[str, DefinitionPace]
    is_whole: bool = True


class DetailedPace(Struct, frozen=True):
    """A minute on record, how many jobs had ever ended by it, and its detail or that of the hour before."""

    minute: datetime
    ended: Mapping[State, int]
    detail: PaceDetail


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


def joined(several: Iterable[DefinitionPace]) -> DefinitionPace:
    """The figures of several times, or of several definitions, as one."""
    parts = list(several)
    ended: Counter[State] = Counter()
    for part in parts:
        ended.update(part.ended)
    return DefinitionPace(
        dict(ended), merged(part.waits for part in parts), merged(part.runs for part in parts)
    )


def detail_joined(several: Sequence[PaceDetail]) -> PaceDetail:
    """The details of times one after the other as one; at least one of them."""
    names = dict.fromkeys(name for one in several for name in one.of)
    of = {name: joined(one.of[name] for one in several if name in one.of) for name in names}
    return PaceDetail(
        waiting=several[-1].waiting,
        running=several[-1].running,
        of=busiest(of),
        is_whole=all(one.is_whole for one in several),
    )


def busiest(of: Mapping[str, DefinitionPace]) -> dict[str, DefinitionPace]:
    """Those with most jobs, and all together."""
    ranked = sorted(of, key=lambda name: (name != ALL, -sum(of[name].ended.values()), name))
    return {name: of[name] for name in ranked[: MOST_DEFINITIONS + 1]}


def quantile(lengths: Lengths, share: float) -> float:
    """The quantile `share` of a histogram, in seconds; at most a fifth too long."""
    rest = math.ceil(sum(lengths.values()) * share)
    for kind in sorted(lengths):
        rest -= lengths[kind]
        if rest <= 0:
            break
    return round((2 ** ((kind + 1) / _CLASSES_PER_DOUBLING) - 1) / 1000, 3)
