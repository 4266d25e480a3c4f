"""What a turn is offered to claim from, and what its answer says of it."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from tenure.core.lease import Line
from tenure.storage.postgres.told import Place


class Standing(NamedTuple):
    """A line that was found: who serves it, and the limits of its jobs."""

    line: Line
    limits: tuple[int, ...] = ()


class Offer(NamedTuple):
    """A place to claim from, behind which number, and for how many jobs there is room as far as is known."""

    place: Place
    after: int
    standing: Standing
    room: int


def spent(
    offers: Sequence[Offer], gave: Mapping[Place, int], limit: int, used_up: Callable[[int], bool]
) -> Iterator[tuple[Offer, bool]]:
    """The offers that a claim of up to `limit` jobs has come to, and that gave fewer than they could.

    Nobody stands there any more, or there was less room than was believed. Where several share a limit that
    is now used up, it is not certain: jobs may have been found there and left in line, since others before
    them were given the last slot. A claim counts those, too, and may not have come to what is behind them.
    """
    users = Counter(limited for offer in offers for limited in offer.standing.limits)
    shared = {limited for limited, number in users.items() if number > 1}
    if not gave or not any(map(used_up, shared)):
        shared.clear()
    left = limit
    for offer in offers:
        given = gave.get(offer.place, 0)
        is_certain = shared.isdisjoint(offer.standing.limits)
        if given < min(left, offer.room):
            yield offer, is_certain
        left -= given if is_certain else max(given, offer.room)
        if left <= 0:
            return
