"""What a runner uses: how much of it by each attempt, and whether it has grown too much."""

import os
import resource
from pathlib import Path
from time import monotonic
from typing import NamedTuple

GROWTH = 2
"""How many times the memory that it began with a runner may have in the end."""

LEAST_GROWTH = 64 << 20
"""Bytes that it may have more in any case: what a small module's handlers import is no leak."""

LOOK_EVERY = 1.0
"""Seconds between two looks at the memory of a runner that many attempts share."""

_PAGE = os.sysconf("SC_PAGE_SIZE")
_NOTEWORTHY = 4 << 20
"""Bytes by which a peak must have risen to be counted anew, which costs several calls of the kernel."""


class Usage(NamedTuple):
    """What an attempt has used: CPU time in seconds, and the most bytes of memory."""

    cpu: float
    peak_memory: int


class Meter:
    """What this process uses from one attempt to the next, and whether it has grown too much."""

    def __init__(self) -> None:
        start = _resident()
        self._most = max(start * GROWTH, start + LEAST_GROWTH)
        self._cpu, self._peak = _used()
        self._looked_at = monotonic()

    def read(self) -> Usage:
        """What was used since this was last asked."""
        cpu, peak = _used()
        used = Usage(cpu - self._cpu, peak)
        self._cpu = cpu
        if peak > self._peak + _NOTEWORTHY:
            self._forget_the_peak()
            _, peak = _used()
        self._peak = peak
        return used

    def is_due(self) -> bool:
        """Whether some time has passed since this was last so."""
        if monotonic() - self._looked_at < LOOK_EVERY:
            return False
        self._looked_at = monotonic()
        return True

    def is_large(self) -> bool:
        """Whether it has too much memory now."""
        return _resident() > self._most

    def has_grown(self) -> bool:
        """Whether it has too much memory; what was its peak tells most often that it has not."""
        return self._peak > self._most and self.is_large()

    def _forget_the_peak(self) -> None:
        """Count the peak anew from here, where the kernel does that."""
        try:
            descriptor = os.open("/proc/self/clear_refs", os.O_WRONLY | os.O_CLOEXEC)
        except OSError:
            return
        try:
            os.write(descriptor, b"5")
        except OSError:
            pass
        finally:
            os.close(descriptor)


def _used() -> tuple[float, int]:
    own, others = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime, own.ru_maxrss * 1024


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE
