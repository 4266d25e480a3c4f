"""Until when a runner may live if nobody is there to prolong it: the earliest deadline of its attempts.

The zygote is told as seldom as that allows. A deadline that is too early does no harm as long as a later one
is told in time: attempts come and go by the thousand, and each could have changed it.
"""

import asyncio
import math
from collections.abc import Callable
from time import monotonic

_SHORTEST = 0.01
"""Seconds between two looks at a deadline that nobody moves."""


class Tether:
    """Keeps the deadline of one runner; `earliest` says what it should be, `tell` has it kept."""

    def __init__(self, earliest: Callable[[], float], tell: Callable[[float], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._earliest = earliest
        self._tell = tell
        self._told = math.inf
        self._timer: asyncio.TimerHandle | None = None
        self._is_due = False

    def hold(self, deadline: float | None) -> None:
        """There is one more attempt, with this deadline."""
        if deadline is not None and deadline < self._told:
            self._say(deadline)

    def move(self, _deadline: float) -> None:
        """An attempt's deadline has changed, and perhaps that of many: it is looked at soon."""
        if not self._is_due:
            self._is_due = True
            self._loop.call_soon(self._review)

    def close(self) -> None:
        """The runner has ended."""
        if self._timer is not None:
            self._timer.cancel()
        self._is_due = True

    def _review(self) -> None:
        self._is_due = False
        earliest = self._earliest()
        if earliest == self._told:
            self._look_again()
        else:
            self._say(earliest)

    def _say(self, deadline: float) -> None:
        self._told = deadline
        self._tell(deadline)
        self._look_again()

    def _look_again(self) -> None:
        """Look again when half of the time is over: by then who set this deadline may have ended."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None
        if self._told < math.inf:
            wait = max((self._told - monotonic()) / 2, _SHORTEST)
            self._timer = self._loop.call_later(wait, self._review)
