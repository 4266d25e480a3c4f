"""A runner of the lane `warm`: one attempt at a time, on the main thread of a process that is used again.

After each attempt it restores what the attempt changed around it: environment, current folder, umask, limits,
streams, and the contents of the temporary folder. What an attempt leaves running it cannot restore: it
cancels tasks and waits for the threads of the event loop, but if a process or another thread is left, the
runner ends, and the zygote ends the processes. It also ends when it has grown, or ran out of memory. Changes
in the modules themselves stay: that is what makes it warm.
"""

import gc
import os
import sys
from collections import deque
from contextlib import suppress
from threading import active_count
from typing import NoReturn

from tenure.core.model.retry import HandlerReport, OutOfMemory
from tenure.execution.child import process
from tenure.execution.child.loaded_app import LoadedApp
from tenure.execution.child.performance import perform
from tenure.execution.child.process_state import ProcessState
from tenure.execution.child.reusable_loop import ReusableLoop
from tenure.execution.child.usage import UsageMeter
from tenure.execution.handler.mux import Mux
from tenure.execution.protocol.messages import Begin, Finished

_ANY_CHILD = os.WEXITED | os.WNOHANG | os.WNOWAIT


class Warm:
    """Serves one attempt after another."""

    def __init__(self, connection: int, app: LoadedApp) -> None:
        self._app = app
        self._begun: deque[tuple[int, Begin]] = deque()
        self._mux = Mux(connection, lambda number, begin: self._begun.append((number, begin)))
        self._loop = ReusableLoop(self._mux)
        self._pid = os.getpid()
        self._threads = active_count()
        self._children = _has_children()
        self._state = ProcessState()
        self._meter = UsageMeter()

    def run(self) -> NoReturn:
        """Serve until the worker no longer needs this runner."""
        while True:
            self._mux.take_in(lambda: bool(self._begun))
            self._serve(*self._begun.popleft())

    def _serve(self, number: int, begin: Begin) -> None:
        stream = self._mux.open(number)
        process.active.append(stream)
        self._state.enter(begin.assignment.limits, begin.environment)
        report = perform(stream, begin.assignment, self._app, self._loop.run)
        if os.getpid() != self._pid:  # the handler forked, and this process is not the attempt's
            os._exit(0)
        is_clean = self._tidied(report)
        used = self._meter.read()
        is_last = not is_clean or self._app.has_failed or self._meter.has_grown()
        process.active.clear()
        del self._mux.streams[number]
        stream.send(Finished(report, used.cpu, used.peak_memory, stream.is_cancelled, is_last))
        with suppress(Exception):  # of code that still waits for it
            stream.cancel()
        if is_last:
            os._exit(0)

    def _tidied(self, report: HandlerReport) -> bool:
        """Restore what the attempt changed; whether all of it is as it was."""
        try:
            self._loop.tidy(self._threads)
            for output in (sys.stdout, sys.stderr, *self._state.streams):
                output.flush()
            self._state.restore()
        except Exception:  # whatever the handler left there
            return False
        if isinstance(report, OutOfMemory):
            gc.collect()
            return False
        return active_count() <= self._threads and _has_children() <= self._children


def _has_children() -> bool:
    """Whether there are any processes below this one, adopted orphans included."""
    try:
        os.waitid(os.P_ALL, 0, _ANY_CHILD)
    except ChildProcessError:
        return False
    return True
