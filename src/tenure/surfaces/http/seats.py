"""Seats for those whose answers go on, or come late: each keeps a connection, so there are only so many."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from tenure.surfaces.http.caller import Caller
from tenure.surfaces.http.problems import RETRY_AFTER, Refusal


class Seats:
    """How many streams are open at present, or whatever they are called, in all and by key."""

    def __init__(self, total: int, per_key: int, name: str = "stream") -> None:
        self._name = name
        self._total = total
        self._per_key = per_key
        self._taken: Counter[str | None] = Counter()

    def take(self, caller: Caller) -> None:
        """Take a seat. Raises Refusal when there is none."""
        if caller.key is not None and self._taken[caller.key] >= self._per_key:
            said = f"this key has {self._per_key} {self._name}s open; end one of them"
            raise Refusal("too-many-requests", said, headers={"retry-after": str(RETRY_AFTER)})
        if self._taken.total() >= self._total:
            raise Refusal("busy", f"every {self._name} is taken; try again")
        self._taken[caller.key] += 1

    @contextmanager
    def taken(self, caller: Caller) -> Iterator[None]:
        """A seat, until the block ends."""
        self.take(caller)
        try:
            yield
        finally:
            self.leave(caller)

    def leave(self, caller: Caller) -> None:
        """Give a seat back."""
        self._taken[caller.key] -= 1
        self._taken += Counter()  # forgets those that have none
