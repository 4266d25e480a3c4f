"""How many slots limits leave free, as far as this process knows.

The free slots of the last look-up, minus those claimed since, plus those this process has returned. The claim
itself finds out which are really free.
"""

from collections.abc import Iterable, Mapping

import msgspec

_by_limit = msgspec.json.Decoder(dict[str, tuple[int, int]]).decode


class LimitRoom:
    """Free slots, and slots that this process holds, by the id of their limit."""

    def __init__(self) -> None:
        self._free: dict[int, int] = {}
        self._held: dict[int, int] = {}
        self._lowered: set[int] = set()

    @property
    def is_known(self) -> bool:
        """Whether any limit is known."""
        return bool(self._free)

    def clear(self) -> None:
        """Forget all before a look-up: a limit that it does not name has no room."""
        self._free.clear()
        self._lowered.clear()

    def learn(self, text: str) -> None:
        """Take from a look-up, for every limit, its free slots and the slots held above its size."""
        slots = {int(limit): counts for limit, counts in _by_limit(text).items()}
        self._free = {limit: free for limit, (free, _) in slots.items()}
        self._lowered = {limit for limit, (_, above) in slots.items() if above}

    def change(self, taken: Mapping[int, int]) -> bool:
        """Count slots taken under each limit, or freed if negative; whether some limit has more room now."""
        for limit, count in taken.items():
            self._free[limit] = self._free.get(limit, 0) - count
            self._held[limit] = self._held.get(limit, 0) + count
        return any(count < 0 for count in taken.values())

    def is_free(self, limits: Iterable[int]) -> bool:
        """Whether jobs under these limits may begin before others end."""
        return all(self._free.get(limit, 0) > 0 for limit in limits)

    def is_lowered(self, limits: Iterable[int]) -> bool:
        """Whether more jobs run under some of these limits than its size allows."""
        return not self._lowered.isdisjoint(limits)

    def after(self, limit: int, returning: int) -> int:
        """The slots of a limit once up to `returning` attempts of this process have ended."""
        return self._free.get(limit, 0) + min(returning, max(0, self._held.get(limit, 0)))
