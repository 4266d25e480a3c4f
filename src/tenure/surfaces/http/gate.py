"""The gate: who has a place among the connections, and who makes room for others.

A request that is whole is *at work* until it is answered, and nobody takes its place. Every other connection
holds its place only as long as nobody needs it. First to go are those of unknown callers whose body is not
there, who do not read, or who have been refused; then those that rest, or whose head is on its way; last the
bodies of callers who are known. Of each kind the one goes that has waited longest.

Nobody has more than half of the places, so that whoever takes all that there is takes it from itself. Beyond
the places there is a reserve: who finds every place at work is heard there, and a probe is answered.
"""

from enum import IntEnum
from typing import Protocol

RESERVE = 32
"""Connections beyond the places, for those who have not said yet what they want."""


class Readiness(IntEnum):
    """How readily a connection makes room."""

    FIRST = 0
    RESTING = 1
    LAST = 2


class Guest(Protocol):
    """A connection, as far as the gate knows it."""

    def make_room(self) -> None:
        """End at once, without a word."""


class _Group:
    """Some connections: how many they are, and those that make room, by readiness and then by age."""

    def __init__(self, places: int) -> None:
        self.places = places
        self.size = 0
        self.at_work = 0
        self.waiting: tuple[dict[Place, None], ...] = tuple({} for _ in Readiness)

    def add(self, place: "Place") -> None:
        self.size += 1
        self.at_work += 1
        self.change(place, None, place.readiness)

    def remove(self, place: "Place") -> None:
        self.size -= 1
        self.change(place, place.readiness, None)
        self.at_work -= 1

    def change(self, place: "Place", before: Readiness | None, after: Readiness | None) -> None:
        if before is not None:
            del self.waiting[before][place]
            self.at_work += 1
        if after is not None:
            self.waiting[after][place] = None
            self.at_work -= 1

    def has_room(self) -> bool:
        """Whether one more may come in, for which the next to go has gone if need be."""
        if self.size < self.places + RESERVE:
            return True
        next_to_go = next((place for line in self.waiting for place in line), None)
        if next_to_go is not None:
            next_to_go.leave()
            next_to_go.guest.make_room()
        return next_to_go is not None


class Gate:
    """Every connection, by whom it comes from."""

    def __init__(self, places: int) -> None:
        self._share = max(places // 2, 1)
        self.everyone = _Group(places)
        self._by_peer: dict[str, _Group] = {}

    def has_room(self, peer: str | None) -> bool:
        """Whether one more may come in from this peer, for which others have gone if need be."""
        own = None if peer is None else self._by_peer.get(peer)
        return self.everyone.has_room() and (own is None or own.has_room())

    def join(self, place: "Place", peer: str | None) -> _Group | None:
        """Count a connection among those of a peer."""
        if peer is None:
            return None
        group = self._by_peer.setdefault(peer, _Group(self._share))
        group.add(place)
        return group

    def part(self, place: "Place", peer: str | None) -> None:
        """Count it there no more; nothing is kept of a peer that has no others."""
        if peer is not None:
            group = self._by_peer[peer]
            group.remove(place)
            if not group.size:
                del self._by_peer[peer]


class Place:
    """The place of one connection, from when it enters until it leaves."""

    def __init__(self, gate: Gate, guest: Guest) -> None:
        self.guest = guest
        self.readiness: Readiness | None = Readiness.RESTING
        """None while it makes no room."""
        self._gate = gate
        self._peer: str | None = None
        self._own: _Group | None = None
        self._is_taken = False

    def enter(self, peer: str | None) -> bool:
        """Take a place, to rest; False when all are at work, and the reserve is taken as well.

        A peer that is None is one whose connections are many others', and is not bound to its half.
        """
        self._is_taken = self._gate.has_room(peer)
        if self._is_taken:
            self._gate.everyone.add(self)
            self._peer, self._own = peer, self._gate.join(self, peer)
        return self._is_taken

    @property
    def may_work(self) -> bool:
        """Whether a request on this connection may be worked on."""
        if self.readiness is None:
            return True
        everyone, own = self._gate.everyone, self._own
        return everyone.at_work < everyone.places and (own is None or own.at_work < own.places)

    def belong(self, peer: str | None) -> None:
        """The connection is this peer's from now on."""
        if self._is_taken and peer != self._peer:
            self._gate.part(self, self._peer)
            self._peer, self._own = peer, self._gate.join(self, peer)

    def stand(self, readiness: Readiness | None) -> None:
        """Make room so readily, or not at all; as long as that does not change it keeps its age."""
        if readiness is not self.readiness and self._is_taken:
            self._gate.everyone.change(self, self.readiness, readiness)
            if self._own is not None:
                self._own.change(self, self.readiness, readiness)
            self.readiness = readiness

    def leave(self) -> None:
        """The connection is gone."""
        if self._is_taken:
            self._gate.everyone.remove(self)
            self._gate.part(self, self._peer)
            self._is_taken = False
