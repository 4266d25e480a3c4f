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
            pipes = len(_pipes(process))
            self._fewest[worker] = min(pipes, self._fewest.get(worker, pipes))

    def pipes_left(self, worker: str, pid: int) -> int:
        """How many pipes a process has to nobody, beyond the fewest it was seen with, if ever."""
        with suppress(OSError, KeyError):
            return len(_pipes(Path(f"/proc/{pid}")) - _held_by_others(pid)) - self._fewest[worker]
        return 0

    def _note(self, name: str, at: float, value: float) -> None:
        self.series.setdefault(name, []).append((at, value))


def _pipes(process: Path) -> set[str]:
    """Each attempt has some, for what it writes."""
    found = set()
    for descriptor in (process / "fd").iterdir():
        with suppress(OSError):  # closed meanwhile
            found.add(str(descriptor.readlink()))
    return {name for name in found if name.startswith("pipe:")}


def _held_by_others(pid: int) -> set[str]:
    """The pipes of every process but one: those of children that are kept lead to somebody."""
    held: set[str] = set()
    for process in Path("/proc").glob("[0-9]*"):
        if process.name not in {str(pid), str(os.getpid())}:
            with suppress(OSError):  # it has ended, or is not ours to look into
                held |= _pipes(process)
    return held
