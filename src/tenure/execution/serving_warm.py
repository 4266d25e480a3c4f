"""A runner of the lane `warm`: one attempt at a time, on the main thread of a process that is used again.

What an attempt changes around it is put back: environment, current folder, umask, limits, streams, and what
it has left in its temporary folder. What it leaves running cannot be: tasks are cancelled and the threads of
its event loop awaited before it has ended, but where it leaves a process or another thread, the runner ends
after it, and the zygote ends the processes. So it does when it has grown, or ran out of memory. Changes in
the modules themselves stay: that is what makes it warm.
"""

import gc
import os
import sys
from collections import deque
from contextlib import suppress
from functools import partial
from threading import active_count
from typing import NoReturn

from tenure.core.retry import OutOfMemory
from tenure.execution import child
from tenure.execution.found import Found
from tenure.execution.hub import Hub
from tenure.execution.kept_loop import KeptLoop
from tenure.execution.meter import Meter
from tenure.execution.performing import Report, perform, performed
from tenure.execution.protocol import Begin, Finished
from tenure.execution.surroundings import Surroundings

_ANY_CHILD = os.WEXITED | os.WNOHANG | os.WNOWAIT


class Warm:
    """Serves one attempt after another."""

    def __init__(self, connection: int, found: Found) -> None:
        self._found = found
        self._begun: deque[tuple[int, Begin]] = deque()
        self._hub = Hub(connection, lambda number, begin: self._begun.append((number, begin)))
        self._loop = KeptLoop(self._hub)
        self._pid = os.getpid()
        self._threads = active_count()
        self._children = _has_children()
        self._surroundings = Surroundings()
        self._meter = Meter()

    def run(self) -> NoReturn:
        """Serve until the worker has no more use for it."""
        while True:
            self._hub.take_in(lambda: bool(self._begun))
            self._serve(*self._begun.popleft())

    def _serve(self, number: int, begin: Begin) -> None:
        strand = self._hub.open(number)
        child.attending.append(strand)
        self._surroundings.enter(begin.assignment.limits, begin.environment)
        run = partial(self._loop.run, strand)
        report = performed(perform(strand, begin.assignment, self._found, run))
        if os.getpid() != self._pid:  # the handler forked, and this is not the process that was asked
            os._exit(0)
        is_clean = self._tidied(report)
        used = self._meter.read()
        is_last = not is_clean or self._found.has_failed or self._meter.has_grown()
        child.attending.clear()
        del self._hub.strands[number]
        strand.send(Finished(report, used.cpu, used.peak_memory, strand.is_cancelled, is_last))
        with suppress(Exception):  # of whoever still holds it
            strand.cancel()
        if is_last:
            os._exit(0)

    def _tidied(self, report: Report) -> bool:
        """Put back what the attempt has changed; whether all of it is as it was."""
        try:
            self._loop.tidy(self._threads)
            for stream in (sys.stdout, sys.stderr, *self._surroundings.streams):
                stream.flush()
            self._surroundings.restore()
        except Exception:  # whatever the handler has left there
            return False
        if isinstance(report, OutOfMemory):
            gc.collect()
            return False
        return active_count() <= self._threads and _has_children() <= self._children


def _has_children() -> bool:
    """Whether there are any processes below this one, to which their orphans come, too."""
    try:
        os.waitid(os.P_ALL, 0, _ANY_CHILD)
    except ChildProcessError:
        return False
    return True
