"""The worker's side of its guards: starting them, awaiting their ends, and ending whom a killed one has left.

A guard ends everybody below it. If somebody kills the guard itself, its zygote and their children die by the
kernel's signals; what these have started comes to the nearest process above that adopts orphans. Let that be
the worker, and nobody is left.
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

from tenure.execution import kernel

LONGEST = 10.0
"""Seconds after which orphans are given up that keep forking faster than they are killed, or cannot die."""

_PAUSE = 0.001


class Guards:
    """Those of one worker, which may have several at a time."""

    def __init__(
        self, *, is_adopting: bool = False, give_up: Callable[[str], None] = lambda _left: None
    ) -> None:
        """`give_up` is told, from another thread, who is left when orphans could not be ended."""
        self._is_adopting = is_adopting
        self._give_up = give_up
        self._known: set[int] = set()
        self._lock = threading.Lock()  # or a guard that was forked a moment ago would be taken for an orphan

    @classmethod
    def adopting(cls, give_up: Callable[[str], None] = lambda _left: None) -> Self:
        """Let this process adopt orphans; for a program that starts no processes but these.

        Not where it has children already, as when a script has started something and then become the worker:
        what those leave behind would come here as well, and wait for ever to be reaped.
        """
        if sys.platform != "linux" or kernel.children_of_threads():
            return cls(give_up=give_up)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # ignored, it would keep from us how a guard has ended
        kernel.adopt_orphans()
        return cls(is_adopting=True, give_up=give_up)

    def start(self, launch: Callable[[], subprocess.Popen[bytes]]) -> subprocess.Popen[bytes]:
        """Start a guard."""
        with self._lock:
            guard = launch()
            self._known.add(guard.pid)
        return guard

    def wait(self, guard: subprocess.Popen[bytes]) -> None:
        """Wait for a guard's end, and end whom it has left; blocks."""
        was_killed = guard.wait() != 0
        with self._lock:
            self._known.discard(guard.pid)
        if was_killed and self._is_adopting:
            end = time.monotonic() + LONGEST
            # Whoever is orphaned comes here before its parent can be reaped: nobody there means nobody left.
            while orphans := self._end_orphans():
                if time.monotonic() >= end:
                    named = ", ".join(str(pid) for pid in sorted(orphans))
                    self._give_up(f"processes of attempts are left that could not be ended: {named}")
                    return
                time.sleep(_PAUSE)

    def _end_orphans(self) -> set[int]:
        """Kill and reap who is there; answers with who was."""
        with self._lock:
            # As process 1 of a container we are given others too, who have their privileges.
            strangers = kernel.children_of_threads() - self._known
            orphans = set(filter(kernel.has_forgone_privileges, strangers))
            for pid in orphans:
                kernel.kill_group(pid, signal.SIGKILL)
                with suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)
        return orphans
