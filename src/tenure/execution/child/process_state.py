"""The state of a process that one attempt after another uses: limits, variables, folders, streams."""

import os
import resource
import shutil
import signal
import sys
from _signal import getsignal  # type: ignore[import-not-found]  # `signal` makes an enum of each answer
from collections.abc import Mapping
from math import ceil
from pathlib import Path
from time import time_ns

from tenure.execution.child import process
from tenure.execution.protocol.assignment import ResourceLimits

_CLOCK_TICK_NS = 50_000_000
"""A file system's clock advances in ticks: two changes within one tick look the same."""

_VARIABLES: dict[bytes, bytes] = os.environ._data  # type: ignore[attr-defined]  # compared in one step
_SOFT = (
    (resource.RLIMIT_NOFILE, "files"),
    (resource.RLIMIT_FSIZE, "file_size"),
    (resource.RLIMIT_DATA, "memory"),
)


class ProcessState:
    """Remembers the state at its creation, and restores it after each attempt."""

    def __init__(self) -> None:
        self._environment = dict(_VARIABLES)
        self._folder = Path.cwd()
        self._scratch = os.environ["TMPDIR"]
        self._swept = 0
        self.streams = sys.stdout, sys.stderr
        self._limits = {kind: resource.getrlimit(kind) for kind, _ in _SOFT}
        self._cpu = resource.getrlimit(resource.RLIMIT_CPU)
        self._bound: dict[int, int | None] = dict.fromkeys(self._limits)
        self._is_cpu_bound = False

    def enter(self, limits: ResourceLimits, environment: Mapping[str, str]) -> None:
        """Set what the next attempt's definition says; soft limits only, as hard ones cannot be raised."""
        for name, value in environment.items():
            os.environ[name] = value
        for kind, name in _SOFT:
            wanted = getattr(limits, name)
            if wanted != self._bound[kind]:
                self._bound[kind] = wanted
                _bind(kind, wanted, self._limits[kind])
        if limits.cpu is not None:
            self._is_cpu_bound = True
            signal.signal(signal.SIGXCPU, signal.SIG_DFL)
            used = resource.getrusage(resource.RUSAGE_SELF)
            _bind(resource.RLIMIT_CPU, ceil(used.ru_utime + used.ru_stime) + limits.cpu, self._cpu)

    def restore(self) -> None:
        """Restore what the attempt changed; raises `OSError` where that is impossible."""
        if self._environment != _VARIABLES:
            os.environb.clear()
            os.environb.update(self._environment)
        try:
            is_elsewhere = os.getcwd() != str(self._folder)  # noqa: PTH109
        except FileNotFoundError:
            is_elsewhere = True
        if is_elsewhere:
            os.chdir(self._folder)
        os.umask(0o077)
        if getsignal(signal.SIGTERM) is not process.on_sigterm:
            signal.signal(signal.SIGTERM, process.on_sigterm)
        sys.stdout, sys.stderr = self.streams
        if self._is_cpu_bound:
            self._is_cpu_bound = False
            resource.setrlimit(resource.RLIMIT_CPU, self._cpu)
        self._sweep()

    def _sweep(self) -> None:
        """Empty the temporary folder, unless its time of change, once old enough, shows no use."""
        changed = os.stat(self._scratch).st_mtime_ns  # noqa: PTH116
        if changed == self._swept and time_ns() - changed > _CLOCK_TICK_NS:
            return
        for entry in os.scandir(self._scratch):
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path)
            else:
                os.unlink(entry.path)  # noqa: PTH108
        self._swept = os.stat(self._scratch).st_mtime_ns  # noqa: PTH116


def _bind(kind: int, wanted: int | None, before: tuple[int, int]) -> None:
    soft, hard = before
    if wanted is not None:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(kind, (soft, hard))
