"""What each attempt of a runner uses, and whether the runner has grown too much."""

import os
import resource
from pathlib import Path
from time import monotonic
from typing import NamedTuple

GROWTH = 2
"""A runner may grow to this many times the memory that it began with."""

LEAST_GROWTH = 64 << 20
"""Bytes that it may grow by in any case: what the handlers of a small module import is no leak."""

LOOK_EVERY = 1.0
"""Seconds between two checks of the memory of a runner that many attempts share."""

_PAGE = os.sysconf("SC_PAGE_SIZE")
_NOTEWORTHY = 4 << 20
"""Bytes by which a peak must rise before it is reset, which costs several system calls."""


class AttemptUsage(NamedTuple):
    """What an attempt used: CPU time in seconds, and the peak of its memory in bytes."""

    cpu: float
    peak_memory: int


class UsageMeter:
    """What this process uses from one attempt to the next, and whether it has grown too much."""

    def __init__(self) -> None:
        start = _resident()
        self._most = max(start * GROWTH, start + LEAST_GROWTH)
        self._cpu, self._peak = _used()
        self._looked_at = monotonic()

    def read(self) -> AttemptUsage:
        """What was used since the last call."""
        cpu, peak = _used()
        used = AttemptUsage(cpu - self._cpu, peak)
        self._cpu = cpu
        if peak > self._peak + _NOTEWORTHY:
            self._reset_peak()
            _, peak = _used()
        self._peak = peak
        return used

    def is_due(self) -> bool:
        """Whether it is time to check the memory again."""
        if monotonic() - self._looked_at < LOOK_EVERY:
            return False
        self._looked_at = monotonic()
        return True

    def is_large(self) -> bool:
        """Whether it uses too much memory now."""
        return _resident() > self._most

    def has_grown(self) -> bool:
        """Whether it uses too much memory; most often the known peak already rules that out."""
        return self._peak > self._most and self.is_large()

    def _reset_peak(self) -> None:
        """Reset the peak, where the kernel can."""
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
