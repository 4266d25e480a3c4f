"""Until when a runner may live if the worker does not prolong it: the earliest deadline of its attempts.

It is sent to the zygote as seldom as possible: attempts come and go by the thousand, and each could change
it. A deadline that is too early does no harm as long as a later one is sent in time.
"""

import asyncio
import math
from collections.abc import Callable
from time import monotonic

_SHORTEST = 0.01
"""Minimum seconds between two reviews of a deadline that does not move."""


class RunnerDeadline:
    """Keeps the deadline of one runner; `earliest` says what it should be, `send` sends it to the zygote."""

    def __init__(self, earliest: Callable[[], float], send: Callable[[float], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._earliest = earliest
        self._send = send
        self._sent = math.inf
        self._timer: asyncio.TimerHandle | None = None
        self._is_due = False

    def include(self, deadline: float | None) -> None:
        """Take one more attempt into account, with this deadline."""
        if deadline is not None and deadline < self._sent:
            self._set(deadline)

    def on_prolonged(self, _deadline: float) -> None:
        """Review the deadline soon: that of an attempt, and perhaps of many, has changed."""
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
        if earliest == self._sent:
            self._schedule_review()
        else:
            self._set(earliest)

    def _set(self, deadline: float) -> None:
        self._sent = deadline
        self._send(deadline)
        self._schedule_review()

    def _schedule_review(self) -> None:
        """Review again at half of the time: by then the attempt that set this deadline may have ended."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None
        if self._sent < math.inf:
            wait = max((self._sent - monotonic()) / 2, _SHORTEST)
            self._timer = self._loop.call_later(wait, self._review)
