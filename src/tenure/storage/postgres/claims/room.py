"""How many slots limits leave free, as far as this process knows.

The free slots of the last look-up, minus those claimed since, plus those this process has returned. The claim
itself finds out which are really free.
"""

from collections.abc import Iterable, Mapping

import msgspec

_Slots = tuple[list[tuple[int, list[int]]], list[tuple[int, int]]]
"""Sizes, each with the limits that have it, and the slots that are held: a limit and the slot's number."""

_slots = msgspec.json.Decoder(_Slots).decode


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
        """Take from a look-up the sizes of limits and the slots that are held."""
        by_size, held = _slots(text)
        sizes = {limit: size for size, limits in by_size for limit in limits}
        free = dict(sizes)
        lowered = set[int]()
        for limit, number in held:
            if limit in free:
                free[limit] -= 1
                if number > sizes[limit]:
                    lowered.add(limit)
        self._free, self._lowered = free, lowered

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
