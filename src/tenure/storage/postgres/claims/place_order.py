"""Places in the order of serving, kept up to date as places come and go.

A claim reads the order from its front and no further than it needs, so that its cost does not depend on how
many places there are. Each change takes as long among ten thousand places as among ten.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from tenure.storage.postgres.claims.hints import Place

_Key = tuple[int, int]
"""The rank that a place counts as, and its own: of places that meet, the more urgent one goes first."""


class Equals:
    """Places of one rank, which take turns in going first."""

    def __init__(self, rank: int, places: Iterable[Place] = (), unlimited: Iterable[Place] = ()) -> None:
        self.rank = rank
        """The rank that they count as; with age, it may be ahead of their own."""
        self._places: OrderedDict[Place, None] = OrderedDict.fromkeys(places)
        self._unlimited: OrderedDict[Place, None] = OrderedDict.fromkeys(unlimited)  # in the same order

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[Place]:
        return iter(self._places)

    def add(self, place: Place, *, is_limited: bool) -> None:
        """Put a place behind the others, unless it is there."""
        self._places[place] = None
        if not is_limited:
            self._unlimited[place] = None

    def drop(self, place: Place) -> None:
        """Take a place out, if it is there."""
        self._places.pop(place, None)
        self._unlimited.pop(place, None)

    def rotate(self) -> None:
        """Let the next place go first, and the first one last."""
        first = next(iter(self._places))
        self._places.move_to_end(first)
        if first in self._unlimited:
            self._unlimited.move_to_end(first)

    def unlimited_behind(self, count: int) -> Iterator[Place]:
        """The places without limits, but for so many in front."""
        return islice(self._unlimited, count, None)


class PlaceOrder:
    """Two orders of the same places: strictly by rank, and by rank and age."""

    def __init__(self) -> None:
        self._is_limited: dict[Place, bool] = {}
        self._waited: dict[Place, int] = {}  # steps of age of the first job; only where there are any
        self._turn = 0
        self._strict = _Ranks({})
        self._aged: _Ranks | None = None  # made when it is first asked for

    def learn(self, places: dict[Place, bool], waited: dict[Place, int], turn: int) -> None:
        """Begin anew with these places: whether each has limits, and for how many steps its first job waited.

        The number of the turn tells which of equal places goes first.
        """
        self._is_limited, self._waited, self._turn = places, waited, turn
        self._strict, self._aged = self._sorted({}), None

    def add(self, place: Place, *, is_limited: bool) -> None:
        """Put a place behind its equals, unless it is there."""
        self._is_limited[place] = is_limited
        for ranks, waited in self._orders():
            ranks.add(_key(place, waited), place, is_limited=is_limited)

    def drop(self, place: Place) -> None:
        """Take a place out."""
        for ranks, waited in self._orders():
            ranks.drop(_key(place, waited), place)
        del self._is_limited[place]

    def note_waited(self, place: Place, steps: int) -> None:
        """The first job of a place has waited for so many steps; of use only where age was asked for."""
        if place not in self._waited or self._waited[place] == steps:
            return
        if self._aged is not None and place in self._is_limited:
            self._aged.drop(_key(place, self._waited), place)
            self._aged.add((place[1] - steps, place[1]), place, is_limited=self._is_limited[place])
        self._waited[place] = steps

    def by_rank(self, *, by_age: bool) -> Iterable[Equals]:
        """Places by their rank. With age, each moves up a rank for every step its first job has waited."""
        if not by_age or not self._waited:
            return self._strict.in_order()
        if self._aged is None:
            self._aged = self._sorted(self._waited)
        return self._aged.in_order()

    def _orders(self) -> Iterator[tuple["_Ranks", Mapping[Place, int]]]:
        yield self._strict, {}
        if self._aged is not None:
            yield self._aged, self._waited

    def _sorted(self, waited: Mapping[Place, int]) -> "_Ranks":
        by_key: dict[_Key, list[Place]] = {}
        for place in sorted(self._is_limited):
            by_key.setdefault(_key(place, waited), []).append(place)
        is_limited = self._is_limited
        ranks: dict[_Key, Equals] = {}
        for key, places in by_key.items():
            first = self._turn % len(places)
            rotated = places[first:] + places[:first]
            ranks[key] = Equals(key[0], rotated, (place for place in rotated if not is_limited[place]))
        return _Ranks(ranks)


class _Ranks:
    """Places by a key; no rank in it is without any."""

    def __init__(self, by_key: dict[_Key, Equals]) -> None:
        self._by_key = by_key
        self._in_order: list[Equals] | None = None

    def add(self, key: _Key, place: Place, *, is_limited: bool) -> None:
        equals = self._by_key.get(key)
        if equals is None:
            equals, self._in_order = Equals(key[0]), None
            self._by_key[key] = equals
        equals.add(place, is_limited=is_limited)

    def drop(self, key: _Key, place: Place) -> None:
        equals = self._by_key[key]
        equals.drop(place)
        if not equals:
            del self._by_key[key]
            self._in_order = None

    def in_order(self) -> list[Equals]:
        if self._in_order is None:
            self._in_order = [equals for _, equals in sorted(self._by_key.items())]
        return self._in_order


def _key(place: Place, waited: Mapping[Place, int]) -> _Key:
    return place[1] - waited.get(place, 0), place[1]
