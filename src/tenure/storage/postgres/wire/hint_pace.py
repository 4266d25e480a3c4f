"""How often a process sends hints: soon where jobs come one by one, seldom where they come in crowds.

A job that comes alone waits for its hint, so silence after a hint is short. Where many jobs are put in line
within such a silence, workers are busy and find them with what they claim anyway: to tell them more often
would only cost callers and server time, and workers would claim fewer jobs at once.
"""

from collections.abc import Callable
from time import monotonic

SHORT = 0.005
"""Seconds between two rounds of hints, while few jobs are put in line."""

LONG = 0.02
"""Seconds between two rounds of hints of many jobs, or of what nobody waits for."""

FEW = 20
"""Up to how many jobs since the last hint are few: in 5 ms, that is 4,000 a second."""

_SOONER = 0.005
"""Seconds by which a hint may go along with a commit before its time: it saves a round of its own."""


class HintPace:
    """Says when the next hint may be sent."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._told_at = float("-inf")
        self._jobs = 0
        self._is_crowd = False  # so many were told of with the last hint

    @property
    def rest(self) -> float:
        """Seconds until the next round of hints; it is time if they are not above 0."""
        silence = SHORT if 0 < self._jobs <= FEW and not self._is_crowd else LONG
        return self._told_at + silence - self._clock()

    @property
    def may_go_along(self) -> bool:
        """Whether the hint of one more job may go along with its commit."""
        silence = SHORT if self._jobs < FEW and not self._is_crowd else LONG
        return self._told_at + silence - self._clock() <= _SOONER

    def note(self, jobs: int) -> None:
        """So many jobs were put in line, and are to be told of."""
        self._jobs += jobs

    def begin(self) -> None:
        """All jobs so far are about to be told of; those that come now are for the next hint.

        After a crowd the next silence is long, too: its callers come together, a few of them first.
        """
        silences = (self._clock() - self._told_at) / SHORT
        self._is_crowd = self._jobs > FEW * max(1.0, silences)
        self._jobs = 0

    def note_told(self) -> None:
        """A hint was sent."""
        self._told_at = self._clock()
