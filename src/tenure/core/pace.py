"""How fast jobs end, minute by minute: what charts are drawn from where the last events do not reach back.

Lengths of time are kept by class, so that those of many minutes can be put together: each class ends a fifth
above the one before.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from tenure.core.states import State

PACE_KEPT = timedelta(hours=25)
"""How long a minute is kept on record."""

_A_DOUBLING = 4
_MILLISECOND = timedelta(milliseconds=1)

Lengths = Mapping[int, int]
"""How many lengths of time there are of each class."""


class Pace(Struct, frozen=True):
    """How many jobs had ever ended at a moment, and how long those had waited and run that ended before it.

    The last are those of one minute, as far as they were looked at.
    """

    minute: datetime
    ended: Mapping[State, int]
    waits: Lengths
    runs: Lengths


class Paces(Struct, frozen=True):
    """The minutes on record, from the oldest on, and how many jobs have ended until now."""

    now: datetime
    ended: Mapping[State, int]
    minutes: Sequence[Pace]


def sorted_out(lengths: Iterable[timedelta]) -> dict[int, int]:
    """Lengths of time by class."""
    return dict(
        Counter(int(_A_DOUBLING * math.log2(1 + max(one, timedelta(0)) / _MILLISECOND)) for one in lengths)
    )


def put_together(several: Iterable[Lengths]) -> Lengths:
    """Several lengths of time by class as one."""
    total: Counter[int] = Counter()
    for one in several:
        total.update(one)
    return total


def not_longer(lengths: Lengths, share: float) -> float:
    """The seconds that so large a share of some lengths does not exceed; a fifth too long at most."""
    rest = math.ceil(sum(lengths.values()) * share)
    for kind in sorted(lengths):
        rest -= lengths[kind]
        if rest <= 0:
            break
    return round((2 ** ((kind + 1) / _A_DOUBLING) - 1) / 1000, 3)
