"""A runner of the lane `async`: one event loop, many attempts at once, each a task.

Tasks that an attempt starts and leaves are cancelled, and awaited, before it has ended. What it leaves in a
thread or as a process nobody can tell from its neighbours'; it lasts until the runner ends. A plain function
runs here, too, and keeps everybody waiting meanwhile.
"""

import asyncio
import os
import socket
import sys
import traceback
from _thread import get_ident
from collections.abc import Callable, Coroutine
from contextvars import copy_context
from typing import Any, NoReturn

from tenure.core.retry import describe
from tenure.execution import limits
from tenure.execution.found import Found
from tenure.execution.hub import Hub, Strand, packed
from tenure.execution.meter import Meter
from tenure.execution.performing import Report, perform
from tenure.execution.protocol import Begin, Finished, FromRunner, Spent, batch
from tenure.execution.telling import speaking, tell_apart

MOST_UNSENT = 4 << 20
"""Bytes that may wait to be sent; who says more waits, and everybody with him."""

_AT_ONCE = 65_536


class LoopHub(Hub):
    """A hub that is read by the loop, and sends what is said in one turn of it together."""

    def __init__(
        self, descriptor: int, begin: Callable[[int, Begin], None], loop: asyncio.AbstractEventLoop
    ) -> None:
        super().__init__(descriptor, begin)
        self._socket = socket.socket(fileno=descriptor)
        self._loop = loop
        self._thread = get_ident()
        self._items: list[bytes] = []
        self._unsent = bytearray()
        self._size = 0
        self._is_due = False
        self._is_written = False
        loop.add_reader(descriptor, self._take_in)

    def open(self, number: int) -> "TaskStrand":
        """The share of one more attempt."""
        strand = self.strands[number] = TaskStrand(self, number)
        return strand

    def put(self, number: int, message: FromRunner) -> None:
        """Send a message of one attempt at the end of this turn; waits while the worker is far behind."""
        data = packed(number, message)
        self._items.append(data)
        self._size += len(data)
        if self._size > MOST_UNSENT and self.is_read_here():
            self._send_now()
        elif not self._is_due:
            self._is_due = True
            if self.is_read_here():
                self._loop.call_soon(self._flush)
            else:
                self._loop.call_soon_threadsafe(self._flush)

    def is_read_here(self) -> bool:
        """Whether this is the loop's thread."""
        return get_ident() == self._thread

    def _awaits(self, seconds: float | None) -> bool:
        self._send_now()  # the loop, which would do it, is kept waiting by this very call
        return self._is_readable(seconds)

    def _receive(self) -> bytes | None:
        try:
            return self._socket.recv(_AT_ONCE, socket.MSG_DONTWAIT)
        except BlockingIOError:  # a plain function has taken it in before the loop came to it
            return None

    def _flush(self) -> None:
        self._gather()
        if not self._is_written:
            self._write()

    def _gather(self) -> None:
        self._is_due = False  # first: whoever adds something from now on asks for another turn
        items, self._items = self._items, []
        self._size = 0
        if items:
            self._unsent += batch(items)

    def _write(self) -> None:
        try:
            while self._unsent:
                del self._unsent[: self._socket.send(self._unsent, socket.MSG_DONTWAIT)]
        except BlockingIOError:
            if not self._is_written:
                self._is_written = True
                self._loop.add_writer(self._descriptor, self._write)
            return
        if self._is_written:
            self._is_written = False
            self._loop.remove_writer(self._descriptor)

    def _send_now(self) -> None:
        """Send everything, however long it takes."""
        self._gather()
        self._socket.sendall(self._unsent)
        self._unsent.clear()


class TaskStrand(Strand):
    """The strand of an attempt that is a task: it is cancelled with it."""

    __slots__ = ("has_begun", "task", "tasks")

    def __init__(self, hub: Hub, number: int) -> None:
        super().__init__(hub, number)
        self.has_begun = False
        self.task: asyncio.Task[None] | None = None
        self.tasks: set[asyncio.Task[Any]] | None = None
        """Those that the attempt has started, and that have not ended."""

    def cancel(self) -> None:
        """Take note that the attempt is to stop. Who has not begun sees it in time."""
        if not self.is_cancelled and self.has_begun and self.task is not None:
            self.task.cancel()
        super().cancel()

    def adopt(self, task: "asyncio.Task[Any]") -> None:
        """The attempt has started a task."""
        if self.tasks is None:
            self.tasks = set()
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)


class Async:
    """Serves many attempts in one event loop."""

    def __init__(self, connection: int, found: Found) -> None:
        self._found = found
        self._is_bound = False
        self._pid = os.getpid()
        tell_apart()
        self._loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self._loop)
        self._loop.set_task_factory(_adopted)  # type: ignore[arg-type]
        self._context = copy_context()
        self._hub = LoopHub(connection, self._begin, self._loop)
        self._meter = Meter()

    def run(self) -> NoReturn:
        """Serve until the worker has no more use for it."""
        while True:
            try:
                self._loop.run_forever()
            except (SystemExit, KeyboardInterrupt):  # a task that an attempt has started calls for it
                pass

    def _begin(self, number: int, begin: Begin) -> None:
        if not self._is_bound:  # all attempts of the lane together, by the first of them
            self._is_bound = True
            limits.apply(begin.assignment.limits)
        strand = self._hub.open(number)
        attempt = self._surely(self._attempt(number, strand, begin))
        strand.task = asyncio.Task(attempt, loop=self._loop, context=self._context.copy())

    async def _surely(self, attempt: Coroutine[Any, Any, None]) -> None:
        """An end that could not be told would be awaited for ever: the worker sees that of the process."""
        try:
            await attempt
        except BaseException:
            traceback.print_exc(file=sys.__stderr__)
            os._exit(1)

    async def _attempt(self, number: int, strand: TaskStrand, begin: Begin) -> None:
        strand.has_begun = True
        speaking.set(strand)
        if begin.environment:
            os.environ.update(begin.environment)
        report: Report
        if strand.is_cancelled:
            report = describe(asyncio.CancelledError("it was to stop before it had begun"))
        else:
            report = await perform(strand, begin.assignment, self._found)
        if os.getpid() != self._pid:  # the handler forked, and this is not the process that was asked
            os._exit(0)
        if strand.tasks:
            await _end(strand.tasks)
        strand.flush()
        del self._hub.strands[number]
        if self._found.has_failed or (self._meter.is_due() and self._meter.is_large()):
            self._hub.put(0, Spent())
        strand.send(Finished(report, was_asked=strand.is_cancelled))


async def _end(tasks: "set[asyncio.Task[Any]]") -> None:
    """Cancel what an attempt has left, and wait for it."""
    for task in tuple(tasks):
        task.cancel()
    while tasks:
        try:
            await asyncio.wait(tuple(tasks))
            await asyncio.sleep(0)  # until they are discarded
        except asyncio.CancelledError:  # the attempt is to stop, which it is about to
            continue


def _adopted(
    loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, Any], **options: Any
) -> "asyncio.Task[Any]":
    task = asyncio.Task(work, loop=loop, **options)
    strand = speaking.get()
    if isinstance(strand, TaskStrand):
        strand.adopt(task)
    return task
