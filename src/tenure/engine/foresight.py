"""How many jobs to claim beyond the free slots: as many as are measured to begin within a moment.

A slot that waits for a round trip after each short attempt is idle for much of its time, and one outcome a
round trip is what makes a database work hardest. Where attempts take long, nothing is claimed ahead.
"""

_SLOWER = 0.5
_FASTER = 0.125
"""Of how much weight an attempt is that took longer, or less long, than those before it."""

_LONG = 2.5
"""Moments: where attempts take longer, all slots may be busy for longer than anything should be held."""


class Foresight:
    """Measures attempts. `within` is the moment, in seconds; `most` is how many may be held in any case."""

    def __init__(self, within: float, most: int) -> None:
        self.within = within
        self._most = most
        self._takes: float | None = None

    def note(self, took: float) -> None:
        """An attempt has ended that took so many seconds."""
        if self._takes is None:
            self._takes = took
        else:
            self._takes += (took - self._takes) * (_SLOWER if took > self._takes else _FASTER)

    def ahead(self, moving: int) -> int:
        """How many jobs to hold for this many slots, none of which is busy with a long attempt."""
        if self._takes is None or self._takes > _LONG * self.within:
            return 0
        return min(self._most, int(self.within * moving / max(self._takes, 1e-6)))
