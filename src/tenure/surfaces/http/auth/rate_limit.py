"""A token bucket per name, counted in this process and in bounded memory."""

import math
import time
from collections.abc import Callable

MOST_BUCKETS = 10_000
"""How many buckets are kept; beyond that the one used longest ago is dropped, and starts full again."""


class RateLimit:
    """Each bucket holds `burst` tokens and gains `per_second`."""

    def __init__(
        self, burst: float, per_second: float, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._burst = burst
        self._per_second = per_second
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}
        """What was left in each bucket, and when; the one used last is last."""

    def take(self, name: str) -> int:
        """Take a token; returns 0, or the whole seconds until there is one."""
        now = self._clock()
        left, at = self._buckets.pop(name, (self._burst, now))
        left = min(self._burst, left + (now - at) * self._per_second)
        granted = left >= 1
        self._buckets[name] = (left - granted, now)
        if len(self._buckets) > MOST_BUCKETS:
            del self._buckets[next(iter(self._buckets))]
        return 0 if granted else max(1, math.ceil((1 - left) / self._per_second))
