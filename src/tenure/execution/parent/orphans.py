"""The worker's side of its guards: starts them, waits for them, and kills what a killed guard left behind.

A guard kills every process below it. If the guard itself is killed, its zygote and the zygote's children die
by the kernel's signals; what these have started goes to the nearest ancestor that adopts orphans. If that is
the worker, no process is left.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Self

from tenure.execution.protocol import kernel

LONGEST = 10.0
"""Seconds after which the worker gives up on orphans that fork faster than they are killed, or cannot die."""

_PAUSE = 0.001


class OrphanGuards:
    """The guards of one worker, which may have several at a time."""

    def __init__(
        self, *, is_adopting: bool = False, on_left: Callable[[str], None] = lambda _text: None
    ) -> None:
        """`on_left` is called, in another thread, with a text about orphans that could not be killed."""
        self._is_adopting = is_adopting
        self._on_left = on_left
        self._known: set[int] = set()
        self._lock = threading.Lock()  # or a guard just forked would be taken for an orphan

    @classmethod
    def adopting(cls, on_left: Callable[[str], None] = lambda _text: None) -> Self:
        """Let this process adopt orphans; for a program that starts no processes but these.

        Not where it has children already, as when a script started a process and then became the worker:
        their orphans would come here as well, and never be reaped.
        """
        if sys.platform != "linux" or kernel.children_of_threads():
            return cls(on_left=on_left)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # ignored, it would hide how a guard ended
        kernel.adopt_orphans()
        return cls(is_adopting=True, on_left=on_left)

    def start(self, launch: Callable[[], subprocess.Popen[bytes]]) -> subprocess.Popen[bytes]:
        """Start a guard."""
        with self._lock:
            guard = launch()
            self._known.add(guard.pid)
        return guard

    def wait(self, guard: subprocess.Popen[bytes]) -> None:
        """Wait for a guard's end, and kill what it left; blocks."""
        was_killed = guard.wait() != 0
        with self._lock:
            self._known.discard(guard.pid)
        if was_killed and self._is_adopting:
            end = time.monotonic() + LONGEST
            # An orphan comes here before its parent can be reaped: if there is none, none is left.
            while orphans := self._end_orphans():
                if time.monotonic() >= end:
                    named = ", ".join(str(pid) for pid in sorted(orphans))
                    self._on_left(f"processes of attempts are left that could not be ended: {named}")
                    return
                time.sleep(_PAUSE)

    def _end_orphans(self) -> set[int]:
        """Kill and reap the orphans that are here; returns them."""
        with self._lock:
            # Process 1 of a container adopts other processes too; those have their privileges.
            strangers = kernel.children_of_threads() - self._known
            orphans = set(filter(kernel.has_forgone_privileges, strangers))
            for pid in orphans:
                kernel.kill_group(pid, signal.SIGKILL)
                with suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)
        return orphans
