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
from functools import partial
from threading import active_count
from typing import NoReturn

from tenure.core.model.retry import HandlerReport, OutOfMemory
from tenure.execution.child import process
from tenure.execution.child.loaded_app import LoadedApp
from tenure.execution.child.performance import perform
from tenure.execution.child.process_life import ProcessLife, print_failures
from tenure.execution.child.process_state import ProcessState
from tenure.execution.child.reusable_loop import ReusableLoop
from tenure.execution.child.stdio import current_stream, route_by_attempt
from tenure.execution.child.usage import UsageMeter
from tenure.execution.handler.mux import Mux, MuxStream
from tenure.execution.protocol.assignment import Assignment
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
        self._life = ProcessLife(app) if app.has_hooks else None
        self._remember()
        if self._life is not None:
            self._mux.on_retired = self._end

    def run(self) -> NoReturn:
        """Serve until the worker no longer needs this runner."""
        while True:
            self._mux.take_in(lambda: bool(self._begun))
            self._serve(*self._begun.popleft())

    def _serve(self, number: int, begin: Begin) -> None:
        stream = self._mux.open(number)
        process.active.append(stream)
        failed = self._start(stream, begin.assignment)
        self._state.enter(begin.assignment.limits, begin.environment)
        report = failed or perform(stream, begin.assignment, self._app, self._loop.run)
        if os.getpid() != self._pid:  # the handler forked, and this process is not the attempt's
            os._exit(0)
        is_clean = self._tidied(report)
        used = self._meter.read()
        is_last = not is_clean or failed is not None or self._app.has_failed or self._meter.has_grown()
        process.active.clear()
        del self._mux.streams[number]
        stream.send(Finished(report, used.cpu, used.peak_memory, stream.is_cancelled, is_last))
        with suppress(Exception):  # of code that still waits for it
            stream.cancel()
        if is_last:
            self._end()

    def _remember(self) -> None:
        """Remember how the process is, to restore it after each attempt."""
        self._threads = active_count()
        self._children = _has_children()
        self._state = ProcessState()
        self._meter = UsageMeter()
        self._loop.keep()

    def _start(self, stream: MuxStream, assignment: Assignment) -> HandlerReport | None:
        """Run the app's start hooks, once; what they open, start and set stays."""
        if self._life is None or self._life.has_started:
            return None
        failed = self._life.start(assignment, partial(self._loop.run, stream))
        self._remember()
        return failed

    def _end(self) -> NoReturn:
        """Run the app's stop hooks, and end.

        The pipes are no longer read: what the hooks print goes by the socket.
        """
        if self._life is not None and self._life.has_started:
            stream = MuxStream(self._mux, 0)
            current_stream.set(stream)
            route_by_attempt()
            print_failures(self._life.stop(partial(self._loop.run, stream)))
            stream.flush()
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
