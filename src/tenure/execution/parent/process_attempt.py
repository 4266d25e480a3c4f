"""One attempt in a child of its own: starts it, reads its messages, and stops it when it must."""

import asyncio
import signal
import socket
from collections.abc import Callable
from datetime import timedelta
from functools import partial

from tenure.execution.parent import patience
from tenure.execution.parent.attempt_terms import AttemptTerms, Ended, Interrupted, StopReason
from tenure.execution.parent.child_wire import ChildWire
from tenure.execution.parent.endings import StopLog, classify_ending, usage_of
from tenure.execution.parent.output import Journal, output_streams
from tenure.execution.parent.pipes import Pipes
from tenure.execution.parent.reports import MessageSink
from tenure.execution.parent.zygote_client import ZygoteClient, ZygoteLost
from tenure.execution.protocol.frames import frame
from tenure.execution.protocol.messages import Begin, Cancel, Exited


class ProcessAttempt:
    """One child and all that the worker holds for it; `run` is called once.

    Making one raises `OSError`, and leaves nothing, where descriptors have run out.
    """

    def __init__(self, zygote: ZygoteClient, begin: Begin, terms: AttemptTerms) -> None:
        self._loop = asyncio.get_running_loop()
        self._zygote = zygote
        self._terms = terms
        self._stop = terms.stop
        self._journal = Journal(terms.listener.log)
        self._messages = MessageSink(terms.listener, self._journal)
        self._stop_log = StopLog()
        self._lingering: asyncio.TimerHandle | None = None
        ours, theirs = socket.socketpair()
        try:
            self._pipes = Pipes(zygote)
        except OSError:
            ours.close()
            theirs.close()
            raise
        self._output = output_streams(self._journal)
        self._wire = ChildWire(ours)
        # Before there is a child: if it is lost unread with the zygote, the attempt never began.
        self._wire.write(frame(begin))
        self._number, self._ending = zygote.start([theirs.detach(), *self._pipes.theirs], self._stop.deadline)
        self._stop.on_prolonged(partial(zygote.prolong, self._number))
        self._pipes.begin(self._feed)

    async def run(self) -> tuple[Ended, str | None]:
        """Run it to its end; the second value is a folder that it left and that is not empty."""
        reading = asyncio.create_task(self._read_messages())
        try:
            await self._supervise()
            await patience.finish(reading, self._stop, self._stop_log)
        finally:
            if not self._ending.done():  # this very call is being cancelled
                self._kill()
                await self._await_ending(patience.PATIENCE)
            self._close(reading)
        if reading.done() and not reading.cancelled():
            reading.result()  # an error of the listener's own is not the attempt's
        ending = self._ending.result()
        end = classify_ending(self._stop_log, self._messages, ending)
        if isinstance(end, Interrupted):
            self._journal.warn_handed_back(end.error)
        litter = ending.litter if isinstance(ending, Exited) else None
        return Ended(end, usage_of(ending)), litter

    @property
    def has_lost_its_zygote(self) -> bool:
        """Whether it ended because the zygote died, or was given up."""
        return self._ending.done() and isinstance(self._ending.result(), ZygoteLost)

    async def _supervise(self) -> None:
        """Wait until no process of the attempt is left; ask it to stop, and kill it, when it is time."""
        stop, timeout = self._stop, self._terms.timeout
        await self._until(lambda: stop.reason is not None, timeout)
        if self._ending.done():
            return
        self._stop_log.record(stop.reason, timeout)
        if stop.reason in {None, StopReason.CANCELLED}:
            self._ask_to_stop()
            await self._until(lambda: stop.is_final, self._terms.grace)
        if self._ending.done():
            return
        if stop.is_final:
            self._stop_log.record(stop.reason, timeout)
        self._kill()
        await self._await_ending(patience.kill_patience(stop))

    async def _until(self, is_stopped: Callable[[], bool], longest: timedelta) -> None:
        """Wait until the attempt has ended, or is to stop, or has taken so long."""
        over: asyncio.Future[None] = self._loop.create_future()

        def end(_ending: object = None) -> None:
            if not over.done():
                over.set_result(None)

        def look() -> None:
            if is_stopped():
                end()

        timer = self._loop.call_later(longest.total_seconds(), end)
        self._ending.add_done_callback(end)
        self._stop.on_asked(look)
        look()
        try:
            await over
        finally:
            self._stop.on_asked(None)
            self._ending.remove_done_callback(end)
            timer.cancel()

    async def _await_ending(self, seconds: float) -> None:
        await asyncio.wait({self._ending}, timeout=seconds)
        if not self._ending.done():
            self._zygote.hang_up()
            await asyncio.wait({self._ending})

    async def _read_messages(self) -> None:
        try:
            await self._messages.read_from(self._wire)
        except Exception:  # the listener's own
            self._kill()
            raise
        if self._messages.garbage is not None:
            self._kill()
        else:
            # A process that ends closes its socket first: the kill is for one that closed it and lives on.
            longest = patience.LINGER if self._messages.report is None else patience.linger(self._zygote)
            self._lingering = self._loop.call_later(longest, self._kill_lingerer)
        await self._messages.answered()

    def _feed(self, level: str, data: bytes) -> None:
        self._output[level].feed(data)

    def _ask_to_stop(self) -> None:
        self._wire.write(frame(Cancel()))
        self._zygote.signal(self._number, signal.SIGTERM)

    def _kill_lingerer(self) -> None:
        if not self._ending.done():
            self._stop_log.has_lingered = True
            self._kill()

    def _kill(self) -> None:
        self._zygote.signal(self._number, signal.SIGKILL)

    def _close(self, reading: "asyncio.Task[None]") -> None:
        """Take in what is still in the pipes, which no process writes to any more, and close everything."""
        for level in self._pipes.drain():
            self._output[level].close()
        self._pipes.close()
        reading.cancel()
        if self._lingering is not None:
            self._lingering.cancel()
        self._wire.close()
