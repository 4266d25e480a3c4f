"""One attempt: started, listened to, and stopped when it must be."""

import asyncio
import os
import signal
import socket
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from time import monotonic
from typing import Any

from tenure.execution.conversation import Conversation
from tenure.execution.endings import Course, name, usage_of
from tenure.execution.halting import Ended, Halt, Halting, Interrupted, Listener
from tenure.execution.nursery import Lost, Nursery
from tenure.execution.output import Budget, Journal, Stream
from tenure.execution.protocol import Begin, Cancel, Exited, frame
from tenure.execution.wire import Wire

LINGER = 1.0
"""Seconds that a child may live on after it has reported or closed its socket."""

PATIENCE = 10.0
"""Seconds that a zygote may take to end a child; then it is itself what is stuck, and is replaced."""

AT_LEAST = 0.5
"""Seconds that it may take in any case, even if the attempt's time is over: it may be about to."""

FIRST_LOOK = 0.02
"""Seconds before anybody looks for output: most attempts are over by then, and all of it is in the pipes."""

_LAST_WORDS = 1.0
"""Seconds that what a killed child has said may still take to be heard."""

_AT_ONCE = 65_536
_MOST_READS = 64


class Attempt:
    """One child and everything the worker holds of it; `run` is called once.

    Making one raises `OSError`, and leaves nothing, where descriptors have run out.
    """

    def __init__(self, nursery: Nursery, begin: Begin, listener: Listener, halt: Halting) -> None:
        self._loop = asyncio.get_running_loop()
        self._nursery = nursery
        self._halt = halt
        self._journal = Journal(listener.log)
        self._conversation = Conversation(listener, self._journal)
        self._course = Course()
        self._lingering: asyncio.TimerHandle | None = None
        self._pipes: dict[int, Stream] = {}
        self._watched: set[int] = set()
        ours, theirs = socket.socketpair()
        given = [theirs.detach()]
        try:
            output = Budget(self._journal, "the output")
            given.append(self._open_pipe(Stream("stdout", output)))
            given.append(self._open_pipe(Stream("stderr", output)))
        except OSError:
            ours.close()
            for descriptor in (*self._pipes, *given):
                os.close(descriptor)
            raise
        self._wire = Wire(ours)
        # Before there is a child: what is lost unread with the zygote shows that the attempt never began.
        self._wire.send(frame(begin))
        self._number, self._ending = nursery.start(given, halt.deadline)
        halt.on_prolonged(partial(nursery.prolong, self._number))
        self._reading = self._loop.call_later(FIRST_LOOK, self._begin_to_read)

    async def run(self, timeout: timedelta, grace: timedelta) -> tuple[Ended, str | None]:
        """Run it to its end; the second answer is a folder that it left and that is not empty."""
        hearing = asyncio.create_task(self._hear())
        try:
            await self._supervise(timeout, grace)
            await self._hear_out(hearing)
        finally:
            if not self._ending.done():  # this very call is being cancelled
                self._kill()
                await self._await_ending(PATIENCE)
            self._close(hearing)
        if hearing.done() and not hearing.cancelled():
            hearing.result()  # an error of the listener's own is not the attempt's
        ending = self._ending.result()
        end = name(self._course, self._conversation, ending)
        if isinstance(end, Interrupted):
            self._journal.add("warning", f"{end.error.message}; it is handed back")
        litter = ending.litter if isinstance(ending, Exited) else None
        return Ended(end, usage_of(ending)), litter

    @property
    def has_lost_its_zygote(self) -> bool:
        """Whether it ended because the zygote did, or was given up."""
        return self._ending.done() and isinstance(self._ending.result(), Lost)

    async def _supervise(self, timeout: timedelta, grace: timedelta) -> None:
        """Wait until nobody of the attempt is left, having asked and killed in due course."""
        halt = self._halt
        await self._until(lambda: halt.asked is not None, timeout)
        if self._ending.done():
            return
        if halt.asked is None:
            self._course.timed_out = timeout
        if halt.asked in {None, Halt.CANCELLED}:
            self._course.is_cancelled = halt.asked is Halt.CANCELLED
            self._ask_to_stop()
            await self._until(lambda: halt.is_final, grace)
        if self._ending.done():
            return
        self._course.dropped = halt.asked if halt.asked in {Halt.LOST, Halt.SHUTDOWN} else None
        self._kill()
        await self._await_ending(patience(halt))

    async def _until(self, is_halted: Callable[[], bool], longest: timedelta) -> None:
        """Wait until the attempt has ended, or is to stop, or has taken so long."""
        over: asyncio.Future[None] = self._loop.create_future()

        def end(_ending: object = None) -> None:
            if not over.done():
                over.set_result(None)

        def look() -> None:
            if is_halted():
                end()

        timer = self._loop.call_later(longest.total_seconds(), end)
        self._ending.add_done_callback(end)
        self._halt.on_asked(look)
        look()
        try:
            await over
        finally:
            self._halt.on_asked(None)
            self._ending.remove_done_callback(end)
            timer.cancel()

    async def _hear_out(self, hearing: asyncio.Task[None]) -> None:
        """Wait for what was said before the end: to enqueue what the child asked for may take its time."""
        if hearing.done():
            return
        halted = asyncio.ensure_future(self._halt.wait_for_the_end())
        either: set[asyncio.Future[Any]] = {hearing, halted}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            halted.cancel()
        if not hearing.done():
            self._course.dropped = self._halt.asked
            await asyncio.wait({hearing}, timeout=_LAST_WORDS)

    async def _await_ending(self, patience: float) -> None:
        await asyncio.wait({self._ending}, timeout=patience)
        if not self._ending.done():
            self._nursery.hang_up()
            await asyncio.wait({self._ending})

    async def _hear(self) -> None:
        try:
            await self._conversation.hear(self._wire)
        except Exception:  # the listener's own
            self._kill()
            raise
        if self._conversation.garbage is not None:
            self._kill()
        else:
            # A process that ends closes its socket first: the kill is for one that closed it and lives on.
            self._lingering = self._loop.call_later(LINGER, self._kill_lingerer)

    def _ask_to_stop(self) -> None:
        self._wire.send(frame(Cancel()))
        self._nursery.signal(self._number, signal.SIGTERM)

    def _kill_lingerer(self) -> None:
        if not self._ending.done():
            self._course.has_lingered = True
            self._kill()

    def _kill(self) -> None:
        self._nursery.signal(self._number, signal.SIGKILL)

    def _open_pipe(self, stream: Stream) -> int:
        """Make a pipe that this stream is read from; answers where it is written to."""
        ours, written = os.pipe()
        os.set_blocking(ours, False)
        self._pipes[ours] = stream
        self._nursery.own(written)
        return written

    def _begin_to_read(self) -> None:
        for pipe in self._pipes:
            self._loop.add_reader(pipe, self._read, pipe)
            self._watched.add(pipe)

    def _read(self, pipe: int) -> bool:
        """Take in some output; whether there may be more."""
        try:
            data = os.read(pipe, _AT_ONCE)
        except BlockingIOError:
            return False
        if data:
            self._pipes[pipe].feed(data)
        else:
            self._unwatch(pipe)
        return bool(data)

    def _unwatch(self, pipe: int) -> None:
        if pipe in self._watched:
            self._watched.remove(pipe)
            self._loop.remove_reader(pipe)

    def _close(self, hearing: asyncio.Task[None]) -> None:
        """Take in what is still in the pipes, which nobody writes to any more, and close everything."""
        self._reading.cancel()
        for pipe, stream in self._pipes.items():
            for _ in range(_MOST_READS):
                if not self._read(pipe):
                    break
            stream.close()
            self._unwatch(pipe)
            os.close(pipe)
        hearing.cancel()
        if self._lingering is not None:
            self._lingering.cancel()
        self._wire.close()


def patience(halt: Halting) -> float:
    """How long a killed child may take: who has lost its lease is gone before that has run out."""
    if halt.asked is not Halt.LOST or halt.deadline is None:
        return PATIENCE
    return min(max(halt.deadline - monotonic(), AT_LEAST), PATIENCE)
