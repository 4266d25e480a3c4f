"""Places in the order of serving, kept from one claim to the next where there are very many."""

from collections.abc import Collection, Iterator, Mapping
from itertools import chain, islice
from typing import NamedTuple

from tenure.storage.postgres.claims.hints import Place
from tenure.storage.postgres.claims.offers import OpenLine

_MANY = 100
"""From how many places on the order is kept: to sort ten thousand costs more than the claim itself."""

_GONE = 0.02
"""Which share of the places in an order may be gone before they are left out: each claim passes them."""


class Equals(NamedTuple):
    """Places of one rank, which take turns in going first."""

    rank: int
    """The rank that they count as; with age, it may be ahead of their own."""

    places: list[Place]
    unlimited: list[int]
    """Which of the places have no limits, by their index."""

    def rotated(self, turn: int) -> Iterator[Place]:
        """The places, the first of which depends on the turn."""
        first = turn % len(self.places)
        return chain(islice(self.places, first, None), islice(self.places, first))

    def unlimited_behind(self, turn: int, count: int) -> Iterator[Place]:
        """Of the rotated places, those without limits behind the first `count`."""
        size = len(self.places)
        if count == size or not self.unlimited:
            return iter(())
        behind = sorted((index - turn) % size for index in self.unlimited)
        return (self.places[(index + turn) % size] for index in behind if index >= count)


class PlaceOrder:
    """Sorts places by rank. The order may name places that are gone: its reader leaves them out."""

    def __init__(self) -> None:
        self._kept: list[Equals] | None = None
        self._sorted: set[Place] = set()

    def forget(self) -> None:
        """Make the order anew at the next call."""
        self._kept = None

    def note_new(self, place: Place) -> None:
        """This place may be new."""
        if place not in self._sorted:
            self.forget()

    def by_rank(
        self, places: Collection[Place], known: Mapping[int, OpenLine], waited: Mapping[Place, int]
    ) -> list[Equals]:
        """Places by their rank. Each moves up one rank for every step that its first job has waited.

        Among places that meet at one rank, those that were more urgent from the start go first.
        """
        if waited or len(places) < _MANY:
            return _sorted(places, known, waited)
        if self._kept is None:
            self._kept, self._sorted = _sorted(places, known, waited), set(places)
        elif len(places) < len(self._sorted) * (1 - _GONE):
            self._kept, self._sorted = _without_gone(self._kept, places, known), set(places)
        return self._kept


def _without_gone(
    kept: list[Equals], places: Collection[Place], known: Mapping[int, OpenLine]
) -> list[Equals]:
    """The same order without places that are gone, which takes a fraction of the time of sorting."""
    left = (Equals(equals.rank, [place for place in equals.places if place in places], []) for equals in kept)
    for equals in (filled := [equals for equals in left if equals.places]):
        equals.unlimited.extend(n for n, (line, _) in enumerate(equals.places) if not known[line].limits)
    return filled


def _sorted(
    places: Collection[Place], known: Mapping[int, OpenLine], waited: Mapping[Place, int]
) -> list[Equals]:
    by_rank: dict[tuple[int, int], Equals] = {}
    for place in sorted(places):
        line, rank = place
        moved_up = rank - waited.get(place, 0)
        equals = by_rank.get((moved_up, rank))
        if equals is None:
            equals = by_rank[moved_up, rank] = Equals(moved_up, [], [])
        if not known[line].limits:
            equals.unlimited.append(len(equals.places))
        equals.places.append(place)
    return [equals for _, equals in sorted(by_rank.items())]
