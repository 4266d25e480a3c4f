"""A runner of the lane `async`: one event loop, many attempts at once, each a task.

Tasks that an attempt starts and leaves are cancelled and awaited before it ends. Threads and processes that
it leaves cannot be told from those of its neighbours; they last until the runner ends. A plain function runs
here too, and blocks all other attempts meanwhile.
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

from tenure.core.model.retry import HandlerReport, describe
from tenure.execution.child.loaded_app import LoadedApp
from tenure.execution.child.performance import perform_in_loop
from tenure.execution.child.process_life import ProcessLife, print_failures
from tenure.execution.child.stdio import current_stream, route_by_attempt
from tenure.execution.child.usage import UsageMeter
from tenure.execution.handler.mux import Mux, MuxStream, packed
from tenure.execution.protocol import limits
from tenure.execution.protocol.assignment import Assignment
from tenure.execution.protocol.frames import batch
from tenure.execution.protocol.messages import Begin, Finished, FromRunner, RunnerRetiring

MOST_UNSENT = 4 << 20
"""Bytes that may wait to be sent. Beyond that the sender blocks, and the loop with it."""

_AT_ONCE = 65_536


class LoopMux(Mux):
    """A mux that the loop reads; it sends together what attempts send within one turn of the loop."""

    def __init__(
        self, descriptor: int, on_begin: Callable[[int, Begin], None], loop: asyncio.AbstractEventLoop
    ) -> None:
        super().__init__(descriptor, on_begin)
        self._socket = socket.socket(fileno=descriptor)
        self._loop = loop
        self._thread = get_ident()
        self._items: list[bytes] = []
        self._unsent = bytearray()
        self._size = 0
        self._is_due = False
        self._is_written = False
        loop.add_reader(descriptor, self._take_in)

    def open(self, number: int) -> "TaskStream":
        """The stream of one more attempt."""
        stream = self.streams[number] = TaskStream(self, number)
        return stream

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
        self._send_now()  # the loop, which would do it, is blocked by this very call
        return self._is_readable(seconds)

    def _receive(self) -> bytes | None:
        try:
            return self._socket.recv(_AT_ONCE, socket.MSG_DONTWAIT)
        except BlockingIOError:  # a plain function has read it before the loop did
            return None

    def _flush(self) -> None:
        self._gather()
        if not self._is_written:
            self._write()

    def _gather(self) -> None:
        self._is_due = False  # first: what is added from now on asks for another turn
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


class TaskStream(MuxStream):
    """The stream of an attempt that is a task: to cancel one cancels the other."""

    __slots__ = ("has_begun", "tasks")

    def __init__(self, mux: Mux, number: int) -> None:
        super().__init__(mux, number)
        self.has_begun = False
        self.tasks: set[asyncio.Task[Any]] | None = None
        """Tasks that the attempt started and that have not ended."""

    def cancel(self) -> None:
        """Take note that the attempt is to stop. One that has not begun checks before it begins."""
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

    def __init__(self, connection: int, app: LoadedApp) -> None:
        self._app = app
        self._is_bound = False
        self._pid = os.getpid()
        route_by_attempt()
        self._loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self._loop)
        self._loop.set_task_factory(_task_factory)  # type: ignore[arg-type]
        self._context = copy_context()
        self._mux = LoopMux(connection, self._begin, self._loop)
        self._meter = UsageMeter()
        self._life = ProcessLife(app) if app.has_hooks else None
        self._starting: asyncio.Task[HandlerReport | None] | None = None
        if self._life is not None:
            self._mux.on_retired = self._retire

    def run(self) -> NoReturn:
        """Serve until the worker no longer needs this runner."""
        while True:
            try:
                self._loop.run_forever()
            except (SystemExit, KeyboardInterrupt):  # raised by a task that an attempt started
                pass

    def _begin(self, number: int, begin: Begin) -> None:
        if not self._is_bound:  # once, for all attempts of the lane together
            self._is_bound = True
            limits.apply(begin.assignment.limits)
        stream = self._mux.open(number)
        attempt = self._run_or_exit(self._attempt(number, stream, begin))
        stream.task = asyncio.Task(attempt, loop=self._loop, context=self._context.copy())

    async def _run_or_exit(self, attempt: Coroutine[Any, Any, None]) -> None:
        """If an attempt cannot report, end the process: the worker would wait for ever, but sees that end."""
        try:
            await attempt
        except BaseException:
            traceback.print_exc(file=sys.__stderr__)
            os._exit(1)

    async def _start(self, assignment: Assignment) -> HandlerReport | None:
        """Wait for the app's start hooks, which run once, as no attempt's task: what they start stays."""
        if self._life is None or self._life.has_started:
            return None
        if self._starting is None:
            hooks = self._life.start_in_loop(assignment)
            self._starting = asyncio.Task(hooks, loop=self._loop, context=self._context.copy())
        try:
            failed = await asyncio.shield(self._starting)
        except asyncio.CancelledError as error:  # the attempt is to stop; the hooks may hang
            failed = describe(error)
        if failed is not None:
            self._mux.put(0, RunnerRetiring())
        return failed

    def _retire(self) -> None:
        self._loop.remove_reader(self._mux.fileno())
        asyncio.Task(self._end(), loop=self._loop, context=self._context.copy())

    async def _end(self) -> None:
        """Run the app's stop hooks, and end."""
        if self._life is not None:
            print_failures(await self._life.stop_in_loop())
        os._exit(0)

    async def _attempt(self, number: int, stream: TaskStream, begin: Begin) -> None:
        stream.has_begun = True
        current_stream.set(stream)
        if begin.environment:
            os.environ.update(begin.environment)
        report: HandlerReport
        if stream.is_cancelled:
            report = describe(asyncio.CancelledError("it was asked to stop before it had begun"))
        else:
            failed = await self._start(begin.assignment)
            report = failed or await perform_in_loop(stream, begin.assignment, self._app)
        if os.getpid() != self._pid:  # the handler forked, and this process is not the attempt's
            os._exit(0)
        if stream.tasks:
            await _end(stream.tasks)
        stream.flush()
        del self._mux.streams[number]
        if self._app.has_failed or (self._meter.is_due() and self._meter.is_large()):
            self._mux.put(0, RunnerRetiring())
        stream.send(Finished(report, was_asked=stream.is_cancelled))


async def _end(tasks: "set[asyncio.Task[Any]]") -> None:
    """Cancel the tasks that an attempt left, and wait for them."""
    for task in tuple(tasks):
        task.cancel()
    while tasks:
        try:
            await asyncio.wait(tuple(tasks))
            await asyncio.sleep(0)  # until they are discarded
        except asyncio.CancelledError:  # the attempt is to stop, which it is about to
            continue


def _task_factory(
    loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, Any], **options: Any
) -> "asyncio.Task[Any]":
    task = asyncio.Task(work, loop=loop, **options)
    stream = current_stream.get()
    if isinstance(stream, TaskStream):
        stream.adopt(task)
    return task
