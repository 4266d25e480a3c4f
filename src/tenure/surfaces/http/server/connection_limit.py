"""Limits connections: which of them have a place, and which are closed to make room for new ones.

A connection whose request has arrived whole is *at work* until it is answered, and keeps its place. Every
other connection loses its place when a new one needs it. First go those of unknown callers whose body has not
arrived, that do not read, or that were refused; then those that are idle or whose head is arriving; last
those whose known caller is sending a body. Within each kind, the one that has waited longest goes.

No peer has more than half of the places, so a peer that takes all it can get takes them from itself. Beyond
the places there is a reserve: when every place is at work, a new connection is read there, so that a health
probe is still answered.
"""

from enum import IntEnum
from typing import Protocol

RESERVE = 32
"""Connections beyond the places, whose requests are not known yet."""


class Readiness(IntEnum):
    """How soon a connection is closed to make room."""

    FIRST = 0
    RESTING = 1
    LAST = 2


class LimitedConnection(Protocol):
    """A connection, as the limit knows it."""

    def make_room(self) -> None:
        """Close at once, without an answer."""


class _ConnectionGroup:
    """Counts connections, and keeps those that may be closed, by readiness and then by age."""

    def __init__(self, places: int) -> None:
        self.places = places
        self.size = 0
        self.at_work = 0
        self.waiting: tuple[dict[ConnectionPlace, None], ...] = tuple({} for _ in Readiness)

    def add(self, place: "ConnectionPlace") -> None:
        self.size += 1
        self.at_work += 1
        self.change(place, None, place.readiness)

    def remove(self, place: "ConnectionPlace") -> None:
        self.size -= 1
        self.change(place, place.readiness, None)
        self.at_work -= 1

    def change(self, place: "ConnectionPlace", before: Readiness | None, after: Readiness | None) -> None:
        if before is not None:
            del self.waiting[before][place]
            self.at_work += 1
        if after is not None:
            self.waiting[after][place] = None
            self.at_work -= 1

    def has_room(self) -> bool:
        """Whether there is room for one more; closes the next connection to go if need be."""
        if self.size < self.places + RESERVE:
            return True
        next_to_go = next((place for line in self.waiting for place in line), None)
        if next_to_go is not None:
            next_to_go.leave()
            next_to_go.connection.make_room()
        return next_to_go is not None


class ConnectionLimit:
    """Every connection, in total and by peer."""

    def __init__(self, places: int) -> None:
        self._places_per_peer = max(places // 2, 1)
        self.all = _ConnectionGroup(places)
        self._by_peer: dict[str, _ConnectionGroup] = {}

    def has_room(self, peer: str | None) -> bool:
        """Whether there is room for one more from this peer; closes others if need be."""
        own = None if peer is None else self._by_peer.get(peer)
        return self.all.has_room() and (own is None or own.has_room())

    def add_to_peer(self, place: "ConnectionPlace", peer: str | None) -> _ConnectionGroup | None:
        """Count a connection as one of a peer's."""
        if peer is None:
            return None
        group = self._by_peer.setdefault(peer, _ConnectionGroup(self._places_per_peer))
        group.add(place)
        return group

    def remove_from_peer(self, place: "ConnectionPlace", peer: str | None) -> None:
        """Stop counting it there, and forget a peer that has no connection left."""
        if peer is not None:
            group = self._by_peer[peer]
            group.remove(place)
            if not group.size:
                del self._by_peer[peer]


class ConnectionPlace:
    """The place of one connection, from `enter` to `leave`."""

    def __init__(self, limit: ConnectionLimit, connection: LimitedConnection) -> None:
        self.connection = connection
        self.readiness: Readiness | None = Readiness.RESTING
        """None while the connection is at work."""
        self._limit = limit
        self._peer: str | None = None
        self._own: _ConnectionGroup | None = None
        self._is_taken = False

    def enter(self, peer: str | None) -> bool:
        """Take a place, idle; False when every place is at work and the reserve is full as well.

        A peer of None is a proxy: its connections belong to many clients, so the limit of a half is not its.
        """
        self._is_taken = self._limit.has_room(peer)
        if self._is_taken:
            self._limit.all.add(self)
            self._peer, self._own = peer, self._limit.add_to_peer(self, peer)
        return self._is_taken

    @property
    def may_work(self) -> bool:
        """Whether a request on this connection may be worked on."""
        if self.readiness is None:
            return True
        total, own = self._limit.all, self._own
        return total.at_work < total.places and (own is None or own.at_work < own.places)

    def set_peer(self, peer: str | None) -> None:
        """Count the connection as this peer's from now on."""
        if self._is_taken and peer != self._peer:
            self._limit.remove_from_peer(self, self._peer)
            self._peer, self._own = peer, self._limit.add_to_peer(self, peer)

    def set_readiness(self, readiness: Readiness | None) -> None:
        """Set how soon it makes room, None for not at all. The same value again does not change its age."""
        if readiness is not self.readiness and self._is_taken:
            self._limit.all.change(self, self.readiness, readiness)
            if self._own is not None:
                self._own.change(self, self.readiness, readiness)
            self.readiness = readiness

    def leave(self) -> None:
        """Give the place up."""
        if self._is_taken:
            self._limit.all.remove(self)
            self._limit.remove_from_peer(self, self._peer)
            self._is_taken = False
