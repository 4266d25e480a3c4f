"""A runner of the lane `thread`: many attempts at once, each in a thread; the main thread reads the socket.

A thread cannot be stopped from outside: an attempt learns from `ctx.cancelled` that it is to stop, and at the
end of its grace the runner is killed. Threads and processes that an attempt leaves last until the runner
ends.
"""

import os
import sys
import threading
import traceback
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from time import thread_time
from typing import NoReturn

from tenure.core.model.retry import HandlerReport
from tenure.execution.child.loaded_app import LoadedApp
from tenure.execution.child.performance import perform
from tenure.execution.child.process_life import ProcessLife, print_failures
from tenure.execution.child.reusable_loop import ReusableLoop
from tenure.execution.child.stdio import current_stream, route_by_attempt
from tenure.execution.child.usage import UsageMeter
from tenure.execution.handler.mux import Mux, MuxStream
from tenure.execution.protocol import limits
from tenure.execution.protocol.assignment import Assignment
from tenure.execution.protocol.messages import Begin, Finished, RunnerRetiring


class MainThreadMux(Mux):
    """A mux that only the main thread reads."""

    def is_read_here(self) -> bool:
        """No: the main thread reads, and passes on what is for an attempt."""
        return False


class Threads:
    """Serves many attempts, in as many threads as were ever needed at once."""

    def __init__(self, connection: int, app: LoadedApp) -> None:
        self._app = app
        self._is_bound = False
        self._pid = os.getpid()
        route_by_attempt()
        self._mux = MainThreadMux(connection, self._begin)
        self._waiting: SimpleQueue[tuple[int, Begin]] = SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._meter = UsageMeter()
        self._life = ProcessLife(app) if app.has_hooks else None
        self._starting = threading.Lock()
        if self._life is not None:
            self._mux.on_retired = self._end

    def run(self) -> NoReturn:
        """Serve until the worker no longer needs this runner."""
        while True:
            self._mux.take_in(lambda: False)

    def _begin(self, number: int, begin: Begin) -> None:
        if not self._is_bound:  # once, for all attempts of the lane together
            self._is_bound = True
            limits.apply(begin.assignment.limits)
        self._mux.open(number)  # before a thread takes it: a request to stop may follow at once
        self._waiting.put((number, begin))
        if not self._idle.acquire(blocking=False):
            threading.Thread(target=self._work, daemon=True).start()

    def _work(self) -> None:
        loop = ReusableLoop(None)
        try:
            while True:
                self._serve(loop, *self._waiting.get())
                self._idle.release()
        except BaseException:  # the worker would wait for a report for ever, but sees the process end
            traceback.print_exc(file=sys.__stderr__)
            os._exit(1)

    def _start(self, stream: MuxStream, assignment: Assignment, loop: ReusableLoop) -> HandlerReport | None:
        """Run the app's start hooks, once, in the thread that comes first; the others wait."""
        if self._life is None or self._life.has_started:
            return None
        with self._starting:
            return self._life.start(assignment, partial(loop.run, stream))

    def _end(self) -> NoReturn:
        """Run the app's stop hooks, and end."""
        if self._life is not None:
            print_failures(self._life.stop(partial(ReusableLoop(None).run, MuxStream(self._mux, 0))))
        os._exit(0)

    def _serve(self, loop: ReusableLoop, number: int, begin: Begin) -> None:
        stream = self._mux.streams[number]
        current_stream.set(stream)
        began = thread_time()
        if begin.environment:
            os.environ.update(begin.environment)
        failed = self._start(stream, begin.assignment, loop)
        report = failed or perform(stream, begin.assignment, self._app, loop.run)
        if os.getpid() != self._pid:  # the handler forked, and this process is not the attempt's
            os._exit(0)
        with suppress(Exception):  # whatever its leftovers raise
            loop.tidy(None)
        stream.flush()
        current_stream.set(None)
        del self._mux.streams[number]
        if failed or self._app.has_failed or (self._meter.is_due() and self._meter.is_large()):
            self._mux.put(0, RunnerRetiring())
        stream.send(Finished(report, cpu=thread_time() - began, was_asked=stream.is_cancelled))
