"""How long a look-up of lines is trusted, and whether it has covered every line."""

import math
import time

FRESH_FOR = 1.0
"""Seconds for which a look-up is trusted, at least."""

WORTH = 40
"""For how many times its own duration a look-up is trusted, at least."""

STALE_AFTER = 5.0
"""Seconds after which no look-up is trusted, however long it took."""


class Freshness:
    """The age of look-ups. Very many lines take several; a sweep goes from the first line to the last."""

    def __init__(self) -> None:
        self.is_in_parts = False
        self._looked_up_at: float | None = None
        self._trusted_for = FRESH_FOR
        self._sweep_began = self._swept_since = -math.inf
        self._has_offered = False

    @property
    def is_stale(self) -> bool:
        """Whether a look-up is due before the next claim."""
        return self._looked_up_at is None or time.monotonic() - self._looked_up_at > self._trusted_for

    @property
    def is_slow(self) -> bool:
        """Whether walking through lines from their front takes long."""
        return self._trusted_for > FRESH_FOR

    @property
    def has_swept_lately(self) -> bool:
        """Whether every line was looked up within the time for which a look-up is trusted at least."""
        return self._swept_since >= time.monotonic() - FRESH_FOR

    def saw_all_since(self, moment: float) -> bool:
        """Whether every line was looked up since then, or, if lines take several look-ups, shortly before.

        A sweep in which places were offered says nothing of those: more jobs may stand there.
        """
        is_trusted = self.is_in_parts and not self._has_offered
        return self._swept_since >= (moment - self._trusted_for if is_trusted else moment)

    def forget(self) -> None:
        """Make a look-up due before the next claim."""
        self._looked_up_at = None

    def note_offers(self) -> None:
        """Places were offered that this sweep has found."""
        self._has_offered = True

    def note_walk(self, seconds: float) -> None:
        """Walking through lines from their front took this long."""
        self._trusted_for = min(max(FRESH_FOR, WORTH * seconds), STALE_AFTER)

    def note_look_up(self, took: float, *, is_first: bool, is_last: bool) -> None:
        """Lines were looked up: the first part of a sweep, its last part, or both."""
        self.note_walk(took)
        self._looked_up_at = time.monotonic()
        if is_first:
            self._sweep_began = self._looked_up_at - took
            self._has_offered = False
        self.is_in_parts = not (is_first and is_last)
        if is_last:
            self._swept_since = self._sweep_began
