"""How often somebody may do something, counted in this process and in bounded memory."""

import math
import time
from collections.abc import Callable

MOST_KNOWN = 10_000
"""How many are told apart; beyond that whoever was seen longest ago begins anew."""


class Rates:
    """A bucket for each, which holds `burst` and is filled by so many a second."""

    def __init__(
        self, burst: float, per_second: float, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._burst = burst
        self._per_second = per_second
        self._clock = clock
        self._known: dict[str, tuple[float, float]] = {}
        """What was left in each bucket, and when; whoever was seen last stands last."""

    def take(self, who: str) -> int:
        """Take one from somebody's bucket; answers with 0, or with the whole seconds until there is one."""
        now = self._clock()
        left, at = self._known.pop(who, (self._burst, now))
        left = min(self._burst, left + (now - at) * self._per_second)
        granted = left >= 1
        self._known[who] = (left - granted, now)
        if len(self._known) > MOST_KNOWN:
            del self._known[next(iter(self._known))]
        return 0 if granted else max(1, math.ceil((1 - left) / self._per_second))
