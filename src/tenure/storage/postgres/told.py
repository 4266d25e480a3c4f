"""Where jobs were put in line, as a hint says it: a few places, or somewhere."""

import re
from collections.abc import Collection

Place = tuple[int, int]
"""A line's number and a rank in it; the lower rank is served first."""

MOST = 16
"""How many places a hint names; where there are more, it says no more than that there are."""

_PLACES = re.compile(r"\d{1,10}/-?\d{1,5}(?: \d{1,10}/-?\d{1,5})*", re.ASCII)


class Told:
    """What was told since it was last taken."""

    def __init__(self) -> None:
        self._places: set[Place] = set()
        self._is_vague = False

    def add(self, places: Collection[Place]) -> None:
        """Jobs were put in line at these places; at no place in particular where none is named."""
        self._places.update(places)
        if not places or len(self._places) > MOST:
            self._is_vague = True
            self._places.clear()

    def drop(self, places: Collection[Place]) -> bool:
        """Others have told of these places; whether that was all."""
        self._places.difference_update(places)
        return not self._places and not self._is_vague

    def take(self) -> list[Place]:
        """Every place that was told of, the first to serve first; none where jobs may be elsewhere, too."""
        places = [] if self._is_vague else sorted(self._places, key=lambda place: place[1])
        self._places.clear()
        self._is_vague = False
        return places


def written(places: Collection[Place]) -> str:
    """Places as a hint names them."""
    return " ".join(f"{line}/{rank}" for line, rank in places)


def read(text: str) -> list[Place]:
    """The places that a hint names; none where it is not one of ours."""
    if not _PLACES.fullmatch(text):
        return []
    return [(int(line), int(rank)) for line, _, rank in (one.partition("/") for one in text.split(" "))]
