"""A runner of the lane `thread`: many attempts at once, each in a thread; the main thread reads the socket.

A thread cannot be stopped from outside: an attempt is asked by `ctx.cancelled`, and at the end of its grace
the runner is killed. What an attempt leaves in threads or processes of its own lasts until the runner ends.
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

from tenure.execution import limits
from tenure.execution.found import Found
from tenure.execution.hub import Hub
from tenure.execution.kept_loop import KeptLoop
from tenure.execution.meter import Meter
from tenure.execution.performing import perform, performed
from tenure.execution.protocol import Begin, Finished, Spent
from tenure.execution.telling import speaking, tell_apart


class ReadByMain(Hub):
    """A hub that the main thread alone reads."""

    def is_read_here(self) -> bool:
        """Attempts are told by the main thread."""
        return False


class Threads:
    """Serves many attempts, in as many threads as were ever needed at once."""

    def __init__(self, connection: int, found: Found) -> None:
        self._found = found
        self._is_bound = False
        self._pid = os.getpid()
        tell_apart()
        self._hub = ReadByMain(connection, self._begin)
        self._waiting: SimpleQueue[tuple[int, Begin]] = SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._meter = Meter()

    def run(self) -> NoReturn:
        """Serve until the worker has no more use for it."""
        while True:
            self._hub.take_in(lambda: False)

    def _begin(self, number: int, begin: Begin) -> None:
        if not self._is_bound:  # all attempts of the lane together, by the first of them
            self._is_bound = True
            limits.apply(begin.assignment.limits)
        self._hub.open(number)  # before any thread comes to it: a request to stop may follow at once
        self._waiting.put((number, begin))
        if not self._idle.acquire(blocking=False):
            threading.Thread(target=self._work, daemon=True).start()

    def _work(self) -> None:
        loop = KeptLoop(None)
        try:
            while True:
                self._serve(loop, *self._waiting.get())
                self._idle.release()
        except BaseException:  # an end that is not told is awaited for ever; that of the process is seen
            traceback.print_exc(file=sys.__stderr__)
            os._exit(1)

    def _serve(self, loop: KeptLoop, number: int, begin: Begin) -> None:
        strand = self._hub.strands[number]
        speaking.set(strand)
        began = thread_time()
        if begin.environment:
            os.environ.update(begin.environment)
        report = performed(perform(strand, begin.assignment, self._found, partial(loop.run, strand)))
        if os.getpid() != self._pid:  # the handler forked, and this is not the process that was asked
            os._exit(0)
        with suppress(Exception):  # whatever what it has left there raises
            loop.tidy(None)
        strand.flush()
        speaking.set(None)
        del self._hub.strands[number]
        if self._found.has_failed or (self._meter.is_due() and self._meter.is_large()):
            self._hub.put(0, Spent())
        strand.send(Finished(report, cpu=thread_time() - began, was_asked=strand.is_cancelled))
