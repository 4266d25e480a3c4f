"""Caps concurrent streams and long polls, in total and per key: each of them keeps a connection."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from tenure.surfaces.http.app.caller import Caller
from tenure.surfaces.http.app.problems import RETRY_AFTER, Refusal


class ConcurrencyLimit:
    """Counts what is open, in total and by key; `name` is what refusals call it."""

    def __init__(self, total: int, per_key: int, name: str = "stream") -> None:
        self._name = name
        self._total = total
        self._per_key = per_key
        self._taken: Counter[str | None] = Counter()

    def take(self, caller: Caller) -> None:
        """Count one more. Raises Refusal when a limit is reached."""
        if caller.key is not None and self._taken[caller.key] >= self._per_key:
            detail = f"this key has {self._per_key} {self._name}s open, which is the limit; close one first"
            raise Refusal("too-many-requests", detail, headers={"retry-after": str(RETRY_AFTER)})
        if self._taken.total() >= self._total:
            raise Refusal("busy", f"the server has as many {self._name}s open as it allows; try again later")
        self._taken[caller.key] += 1

    @contextmanager
    def taken(self, caller: Caller) -> Iterator[None]:
        """Counts one more until the block ends."""
        self.take(caller)
        try:
            yield
        finally:
            self.leave(caller)

    def leave(self, caller: Caller) -> None:
        """Count one less."""
        self._taken[caller.key] -= 1
        self._taken += Counter()  # forgets keys that have none
