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

    def look(self, pids: Iterable[int], late: float = 0.0, serving: Iterable[int] = ()) -> None:
        """See for how long these have waited since the last look, to which we came so much too late.

        While one of `serving` waits, which are the database's, so may everybody.
        """
        now = time.monotonic()
        before, self._at = self._at, now
        stalled, self._stalled = self._stalled, _stalled()
        if late > LATE or self._stalled - stalled > PART * (now - before):
            self.lags.append((before, now))
        for pid in pids:
            if (waited := self._longest_wait(pid)) > PART * (now - before):
                self._starved.setdefault(pid, []).append((now - waited, now))
        if (waited := max(map(self._longest_wait, serving), default=0.0)) > PART * (now - before):
            self.lags.append((now - waited, now))

    def _longest_wait(self, pid: int) -> float:
        """Of a process's threads since the last look; a wait counts when it is over, and may be older."""
        known, waits = self._waits.get(pid, {}), _waits(pid)
        self._waits[pid] = waits
        return max((waits[thread] - known.get(thread, waits[thread]) for thread in waits), default=0.0)

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


def children(pid: int) -> list[int]:
    """The processes that one has started and that are still there."""
    with suppress(OSError):
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


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
