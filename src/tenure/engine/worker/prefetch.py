"""How many jobs to claim beyond the free slots: as many as should start within a short window.

A slot that waits for a round trip after each short attempt is idle much of the time, and one outcome per
round trip costs the database most. Where attempts take long, nothing is claimed ahead.
"""

_SLOWER = 0.5
_FASTER = 0.125
"""The weight of a new duration in the mean, if it is longer or shorter than the mean."""

_LONG = 2.5
"""In windows. Above this mean duration nothing is prefetched: a held job could wait too long."""


class Prefetch:
    """Measures attempts. `window` is in seconds; `most` is how many jobs may be held in any case."""

    def __init__(self, window: float, most: int) -> None:
        self.window = window
        self._most = most
        self._mean: float | None = None

    def note(self, took: float) -> None:
        """Add the duration of an attempt, in seconds."""
        if self._mean is None:
            self._mean = took
        else:
            self._mean += (took - self._mean) * (_SLOWER if took > self._mean else _FASTER)

    def ahead(self, moving: int) -> int:
        """How many jobs to hold for this many slots, none of which is busy with a long attempt."""
        if self._mean is None or self._mean > _LONG * self.window:
            return 0
        return min(self._most, int(self.window * moving / max(self._mean, 1e-6)))
