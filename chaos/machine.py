"""When the machine itself had no time: how long workers waited for a processor, and everybody for the disk.

The kernel counts both. A worker that was kept waiting for long may miss a beat, and that is nobody's fault;
one that was not must not.
"""

import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

Span = tuple[float, float]

LATE = 0.15
"""Seconds by which a process that has next to nothing to do may be late."""
PART = 0.5
"""The part of a time for which somebody must have waited to count as starved in it."""


class Machine:
    """Looks now and then; times are CLOCK_MONOTONIC."""

    def __init__(self) -> None:
        self.lags: list[Span] = []
        """When everybody was kept waiting."""
        self._starved: dict[int, list[Span]] = {}
        self._waits: dict[int, dict[str, float]] = {}
        self._at = time.monotonic()
        self._stalled = _stalled()

    def look(self, pids: Iterable[int], late: float = 0.0) -> None:
        """See for how long these have waited since the last look, to which we came so much too late."""
        now = time.monotonic()
        before, self._at = self._at, now
        stalled, self._stalled = self._stalled, _stalled()
        if late > LATE or self._stalled - stalled > PART * (now - before):
            self.lags.append((before, now))
        for pid in pids:
            known, waits = self._waits.get(pid, {}), _waits(pid)
            longest = max((waits[thread] - known.get(thread, waits[thread]) for thread in waits), default=0.0)
            # A wait is counted when it is over: it may have begun before the last look.
            if longest > PART * (now - before):
                self._starved.setdefault(pid, []).append((now - longest, now))
            self._waits[pid] = waits

    def starved(self, pid: int) -> list[Span]:
        """When a process was kept waiting, in the order of time and none of it twice."""
        return merged([*self.lags, *self._starved.get(pid, ())])


def merged(spans: Sequence[Span]) -> list[Span]:
    """The same times without overlaps."""
    found: list[Span] = []
    for begin, end in sorted(spans):
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((begin, end))
    return found


def _waits(pid: int) -> dict[str, float]:
    """Seconds for which each thread of a process has ever waited for a processor."""
    waits: dict[str, float] = {}
    with suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):  # it has ended
                waits[thread.name] = int((thread / "schedstat").read_text().split()[1]) / 1e9
    return waits


def _stalled() -> float:
    """Seconds for which nobody could go on for want of the disk, ever; 0 where the kernel does not count."""
    with suppress(OSError):
        for line in Path("/proc/pressure/io").read_text().splitlines():
            if line.startswith("full"):
                return int(line.rpartition("total=")[2]) / 1e6
    return 0.0
