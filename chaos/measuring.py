"""What the workers of a run use, measured again and again: descriptors and memory, from /proc."""

import os
import time
from contextlib import suppress
from pathlib import Path

Series = dict[str, list[tuple[float, float]]]
"""What was measured, as (CLOCK_MONOTONIC, value), by what it is and whose."""

_PAGE = os.sysconf("SC_PAGE_SIZE")


class Measures:
    """All that was measured so far."""

    def __init__(self) -> None:
        self.series: Series = {}
        self._fewest: dict[str, int] = {}

    def take(self, worker: str, pid: int) -> None:
        """Measure one process; one that is gone has nothing."""
        process, at = Path(f"/proc/{pid}"), time.monotonic()
        with suppress(OSError):
            resident = int((process / "statm").read_text().split()[1]) * _PAGE
            self._note(f"descriptors of {worker}", at, len([*(process / "fd").iterdir()]))
            self._note(f"memory of {worker}", at, resident)
            self._fewest[worker] = min(_pipes(process), self._fewest.get(worker, _pipes(process)))

    def pipes_left(self, worker: str, pid: int) -> int:
        """How many pipes a process has that does nothing, beyond the fewest it was seen with, if ever."""
        with suppress(OSError, KeyError):
            return _pipes(Path(f"/proc/{pid}")) - self._fewest[worker]
        return 0

    def _note(self, name: str, at: float, value: float) -> None:
        self.series.setdefault(name, []).append((at, value))


def _pipes(process: Path) -> int:
    """Each attempt has some, for what it writes."""
    found = 0
    for descriptor in (process / "fd").iterdir():
        with suppress(OSError):  # closed meanwhile
            found += str(descriptor.readlink()).startswith("pipe:")
    return found
