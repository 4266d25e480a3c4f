"""Where a claim looks: the places in line, and how far each has been emptied.

A place is a (line, rank) that held jobs when it was last looked up. Looking up costs a query, so it is done
once a second and whenever a claim came back short; in between, what this process enqueues itself is added at
once. A hint says behind which number a claim begins: rows claimed long ago leave dead index entries in front,
and while some old snapshot is open nobody can remove them; without hints every claim would walk them all.

All of this only saves work. What a hint passed over (a transaction that committed late, a claim that was
rolled back) is found again by the next look-up, which forgets all hints.
"""

import time
from collections.abc import Iterable, Mapping

from tenure.core.lease import Line

FRESH_FOR = 1.0
"""Seconds for which a look-up is trusted."""

Place = tuple[int, int]
"""A line's number and a rank in it; the lower rank is served first."""


class Places:
    """What is known of the lines that one order names."""

    def __init__(self) -> None:
        self.lines: dict[int, Line] = {}
        self._hints: dict[Place, int] = {}
        self._looked_up_at: float | None = None
        self._turn = 0

    @property
    def are_stale(self) -> bool:
        """Whether it is time to look again."""
        return self._looked_up_at is None or time.monotonic() - self._looked_up_at > FRESH_FOR

    def learn(self, lines: Mapping[int, Line], places: Iterable[Place]) -> None:
        """Take the answer of a look-up; hints start over."""
        self.lines = dict(lines)
        self._hints = dict.fromkeys(places, 0)
        self._looked_up_at = time.monotonic()

    def forget(self) -> None:
        """Look again before the next claim."""
        self._looked_up_at = None

    def add(self, place: Place) -> None:
        """Note that jobs were put in line there."""
        if place[0] in self.lines:
            self._hints.setdefault(place, 0)

    def in_turn(self) -> list[tuple[Place, int]]:
        """Places and hints in the order to serve them; places of equal rank take turns in going first."""
        self._turn += 1
        by_rank: dict[int, list[Place]] = {}
        for place in sorted(self._hints, key=lambda place: (place[1], place[0])):
            by_rank.setdefault(place[1], []).append(place)
        ordered: list[tuple[Place, int]] = []
        for equals in by_rank.values():
            first = self._turn % len(equals)
            ordered += [(place, self._hints[place]) for place in equals[first:] + equals[:first]]
        return ordered

    def claimed(self, last: Mapping[Place, int], *, short: bool) -> None:
        """Move the hints behind what was claimed; after a short claim look again before the next one."""
        for place, seq in last.items():
            if seq > self._hints.get(place, 0):
                self._hints[place] = seq
        if short:
            self.forget()
