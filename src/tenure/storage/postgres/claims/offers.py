"""The places offered to a turn, and which of them its answer shows to be empty."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from tenure.core.model.lease import Line
from tenure.storage.postgres.claims.hints import Place

MARGIN = 1.3
"""How many times the jobs of a claim it is offered, by what the last offers gave."""

FIRST_MARGIN = 2.0
"""The same under limits where no offers have shown yet how much of the room is used."""

SPARE_PLACES = 4
"""How many places without limits are on offer beyond that: others may have emptied some."""

LEAST_USED = 0.02
"""Which share of the room counts as used, at least: no claim is offered a hundred times its jobs."""


LEAST_GIVEN = 0.1
"""How many jobs a place counts as giving, at least: no claim is offered a hundred times its places."""


class OpenLine(NamedTuple):
    """A line that a look-up found: what a worker must serve to get its jobs, and their limits."""

    line: Line
    limits: tuple[int, ...] = ()


class Offer(NamedTuple):
    """A place to claim from, the number after which the claim begins, and the room known for its jobs."""

    place: Place
    after: int
    open_line: OpenLine
    room: int

    @property
    def limits(self) -> tuple[int, ...]:
        """The ids of the limits that its jobs stand under."""
        return self.open_line.limits


class Demand:
    """How much a claim of so many jobs is still to be offered.

    Under limits it is room, by the share of it that the last such offers used: the slots of all that is on
    offer are locked. Elsewhere it is places, by how many jobs one gave. More is of no use: a claim that comes
    back short goes on with what it was not offered.
    """

    def __init__(self, jobs: int, used: float | None, jobs_a_place: float) -> None:
        self.jobs = jobs
        self._room = jobs * (MARGIN / used if used else FIRST_MARGIN)
        self._places = jobs * MARGIN / jobs_a_place + SPARE_PLACES

    @property
    def is_met_under_limits(self) -> bool:
        """Whether no more room under limits is wanted."""
        return self._room < 0

    @property
    def is_met(self) -> bool:
        """Whether there are places enough without limits: those behind them would not be reached."""
        return self._places <= 0

    def note(self, offer: Offer) -> None:
        """So much is on offer."""
        if offer.limits:
            self._room -= offer.room
        else:
            self._places -= 1


def spent(
    offers: Sequence[Offer], gave: Mapping[Place, int], limit: int, is_used_up: Callable[[int], bool]
) -> Iterator[tuple[Offer, bool]]:
    """The offers that a claim of up to `limit` jobs reached and that gave fewer than they could.

    No job is left there, or there was less room than expected. This is not certain (False) if several offers
    share a limit that is now used up: the claim may have found jobs there and left them in line, because jobs
    before them got the last slot. Those jobs count towards `limit`, so the claim may have stopped there.
    """
    uses = Counter(limited for offer in offers for limited in offer.limits)
    shared = {limited for limited, number in uses.items() if number > 1}
    if not gave or not any(map(is_used_up, shared)):
        shared.clear()
    left = limit
    for offer in offers:
        given = gave.get(offer.place, 0)
        is_certain = shared.isdisjoint(offer.limits)
        if given < min(left, offer.room):
            yield offer, is_certain
        left -= given if is_certain else max(given, offer.room)
        if left <= 0:
            return


def used_share(offers: Sequence[Offer], gave: Mapping[Place, int], limit: int) -> float | None:
    """Which share of the room under limits a claim of up to `limit` jobs has used; None without limits."""
    room = given = 0
    for offer in offers:
        if given >= limit:
            break
        if offer.limits:
            room += min(offer.room, limit)
            given += gave.get(offer.place, 0)
    return min(1.0, max(LEAST_USED, given / room)) if room else None


def jobs_a_place(offers: Sequence[Offer], gave: Mapping[Place, int], limit: int) -> float | None:
    """How many jobs a place without limits gave, of those that a claim of up to `limit` jobs has come to."""
    left, places, given = limit, 0, 0
    for offer in offers:
        if left <= 0:
            break
        here = gave.get(offer.place, 0)
        left -= here
        if not offer.limits:
            places += 1
            given += here
    return max(LEAST_GIVEN, given / places) if places else None
