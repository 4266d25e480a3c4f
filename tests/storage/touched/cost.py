"""What statements cost, as the database itself counts it, and when one cost has grown beyond another."""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

TOLERANCE = 0.2
FEW = 100
"""So much more is no growth: a planner's glance at both ends of an index, a page that was split."""


class Cost(NamedTuple):
    """How much was touched, by the thing touched, and how many look-ups in trees that took.

    A tree with ten times the entries may have one level more, and then each look-up touches one page more.
    """

    counts: Counter[str]
    look_ups: int = 0

    @property
    def total(self) -> int:
        return self.counts.total()


Costs = dict[str, Cost]
"""By statement, and what is counted."""


def add(costs: Costs, name: str, cost: Cost) -> None:
    """Count a cost with what the same statement has cost before."""
    before = costs.get(name, Cost(Counter()))
    costs[name] = Cost(before.counts + cost.counts, before.look_ups + cost.look_ups)


def grown(small: Costs, large: Mapping[str, Cost]) -> dict[str, str]:
    """The statements that cost more in the large database than in the small one, and where."""
    return {
        name: f"{before.total} became {cost.total}: {_where(before, cost)}"
        for name, cost in large.items()
        if cost.total
        > (before := small.get(name, Cost(Counter()))).total * (1 + TOLERANCE) + cost.look_ups + FEW
    }


def _where(before: Cost, after: Cost) -> dict[str, tuple[int, int]]:
    more = after.counts - before.counts
    return {thing: (before.counts[thing], after.counts[thing]) for thing, _ in more.most_common(3)}
