"""When a worker that is led to jobs by messages claims by itself, and from which lines.

A sweep finds what no message has led to: one that was lost, or that came while its line was paused or its
limit used up. It goes on as long as it fills every slot, until a message leads to a job again: from then on
slots are for those.
"""

import time
from collections.abc import Collection, Iterable

from tenure.core.model.claim_by_id import Unclaimed, WhyUnclaimed
from tenure.core.model.lease import Line

_LEFT_TO_SWEEPS = frozenset({WhyUnclaimed.PAUSED, WhyUnclaimed.LIMITED})


class Sweeps:
    """The sweeps of one slot group; the first comes at once, since jobs may wait without a message."""

    def __init__(self, lines: tuple[Line, ...], every: float) -> None:
        self._lines = lines
        self._every = every
        self._due_at = time.monotonic()
        self._left: set[Line] = set()
        self._is_hinted = False
        self.is_blind = False
        """Whether messages cannot be received: then every claim is a sweep."""

    def hint(self) -> None:
        """Something may have changed: a pause that ended, room under a limit."""
        self._is_hinted = True

    def due(self) -> tuple[Line, ...]:
        """The lines to sweep now: all, or those in which jobs were left that a message had named."""
        if self.is_blind or time.monotonic() >= self._due_at:
            return self._lines
        return tuple(sorted(self._left)) if self._is_hinted else ()

    def note_swept(self, lines: Collection[Line], claimed: int, limit: int) -> None:
        """A sweep of these lines came back with so many jobs, of those that it could have claimed."""
        self._is_hinted = claimed >= limit
        if len(lines) == len(self._lines) and claimed < limit:
            self._due_at = time.monotonic() + self._every

    def note_named(self, claimed: Iterable[Line], left: Iterable[Unclaimed]) -> None:
        """Messages have led to jobs of these lines, and to others that were left."""
        lines = set(claimed)
        now = time.monotonic()
        if lines and now >= self._due_at:
            self._due_at = now + self._every
        self._left -= lines
        self._left |= {one.line for one in left if one.why in _LEFT_TO_SWEEPS and one.line is not None}
