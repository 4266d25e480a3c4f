"""Hints that jobs were put in line: at a few places, or somewhere."""

import re
from collections.abc import Collection

Place = tuple[int, int]
"""A line's id and a rank in it; the lower rank is served first."""

MOST = 16
"""How many places a hint names; beyond that it only says that jobs were put in line somewhere."""

_PLACES = re.compile(r"\d{1,10}/-?\d{1,5}(?: \d{1,10}/-?\d{1,5})*", re.ASCII)


class Hints:
    """Collects hints until they are taken."""

    def __init__(self) -> None:
        self._places: set[Place] = set()
        self._is_vague = False

    @property
    def is_silent(self) -> bool:
        """Whether there is nothing to take."""
        return not self._places and not self._is_vague

    def add(self, places: Collection[Place]) -> None:
        """Jobs were put in line at these places; somewhere, if none is named."""
        self._places.update(places)
        if not places or len(self._places) > MOST:
            self._is_vague = True
            self._places.clear()

    def drop(self, places: Collection[Place]) -> bool:
        """Remove places that were announced in another way; whether none is left."""
        self._places.difference_update(places)
        return self.is_silent

    def take(self) -> list[Place]:
        """Take every place that was named, in the order of serving; none if jobs may be elsewhere, too."""
        places = [] if self._is_vague else sorted(self._places, key=lambda place: place[1])
        self._places.clear()
        self._is_vague = False
        return places


def encode_places(places: Collection[Place]) -> str:
    """Write places as a hint names them."""
    return " ".join(f"{line}/{rank}" for line, rank in places)


def decode_places(text: str) -> list[Place]:
    """The places that a hint names; none if it has another form."""
    if not _PLACES.fullmatch(text):
        return []
    return [(int(line), int(rank)) for line, _, rank in (one.partition("/") for one in text.split(" "))]
