"""The worker's side of one runner: a child that takes attempts, one after another or many at once.

An attempt in it ends with its report. When the runner ends before that, the cause must be found. If the
worker killed the runner because of one attempt, the others are collateral. If one attempt was alone in it,
that one is the cause. Otherwise the cause is unknown, and all of them are handed back, to run apart the next
time.
"""

import asyncio
import math
import os
import signal
import socket
from contextlib import suppress
from datetime import timedelta
from functools import partial
from time import monotonic

from msgspec.structs import replace

from tenure.core.values.failure import Failure
from tenure.core.values.text import storable
from tenure.execution.parent import patience
from tenure.execution.parent.endings import ZYGOTE_DIED, Collateral
from tenure.execution.parent.pipes import Pipes
from tenure.execution.parent.runner_attempt import RunnerAttempt
from tenure.execution.parent.runner_deadline import RunnerDeadline
from tenure.execution.parent.runner_link import RunnerLink
from tenure.execution.parent.zygote_client import ChildExit, ZygoteClient, ZygoteLost
from tenure.execution.protocol.frames import Garbage
from tenure.execution.protocol.messages import (
    Begin,
    Cancel,
    DurableAnswer,
    ErrorReply,
    Exited,
    Finished,
    FromRunner,
    LogMessage,
    OutputMessage,
    RunnerRetiring,
    SpawnReply,
)

_RUNNER_DIED = Failure("RunnerDied", "the process that ran it together with others has died")
_RUNNER_KILLED = Failure("RunnerKilled", "the process that ran it was killed to stop another attempt in it")


class Runner:
    """One runner and the attempts in it; where it is not shared, one attempt at a time, with pipes.

    Making one raises `OSError`, and leaves nothing, where descriptors have run out.
    """

    def __init__(self, zygote: ZygoteClient, lane: str, *, is_shared: bool) -> None:
        self.loop = asyncio.get_running_loop()
        self.zygote = zygote
        self.is_shared = is_shared
        self.is_taking = True
        """Whether it takes more attempts."""
        self.born = monotonic()
        self.served = 0
        self._is_finishing = False
        self._attempts: dict[int, RunnerAttempt] = {}
        self._culprits: set[RunnerAttempt] = set()
        self._garbage: str | None = None
        self._reported_cpu = timedelta(0)
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_at = math.inf
        self._pipes = None if is_shared else Pipes(zygote)
        try:
            ours, given = self._opened()
        except OSError:
            if self._pipes is not None:
                for descriptor in self._pipes.theirs:
                    os.close(descriptor)
                self._pipes.close()
            raise
        self._link = RunnerLink(ours, self._receive)
        self._number, self._ending = zygote.start(given, None, lane)
        self._ending.add_done_callback(self._end)
        self._deadline = RunnerDeadline(self._earliest, partial(zygote.prolong, self._number))

    def takes_from(self, zygote: ZygoteClient) -> bool:
        """Whether it takes another attempt; not if its zygote was replaced, even if it has not ended yet."""
        return self.is_taking and self.zygote is zygote

    @property
    def is_gone(self) -> bool:
        """Whether no process of it is left."""
        return self._ending.done()

    async def gone(self) -> None:
        """Wait until no process of it is left."""
        await asyncio.wait({self._ending})
        await asyncio.sleep(0)  # until its callbacks have run, too

    def take(self, attempt: RunnerAttempt, begin: Begin) -> None:
        """Begin an attempt; raises `Garbage` when its assignment is too large to send."""
        attempt.number = self.served + 1
        self._deadline.include(attempt.stop.deadline)  # first: from the next line on the attempt may run
        self._link.send(attempt.number, begin, at_once=not self._attempts)
        self.served += 1
        self._attempts[attempt.number] = attempt
        attempt.stop.on_prolonged(self._deadline.on_prolonged)
        attempt.stop.on_asked(attempt.look)
        self.wake_at(attempt.due)
        if self._pipes is not None:
            self._pipes.begin(attempt.feed)

    def ask_to_stop(self, attempt: RunnerAttempt) -> None:
        """Ask an attempt to stop; where it is alone, signal its processes as well."""
        self._link.send(attempt.number, Cancel())
        if not self.is_shared:
            self.zygote.signal(self._number, signal.SIGTERM)

    def kill(self, attempt: RunnerAttempt | None = None) -> None:
        """Kill it, because of one of its attempts or because it is no longer needed."""
        self.is_taking = False
        if self._ending.done():
            return
        if attempt is not None:
            self._culprits.add(attempt)
        self.zygote.signal(self._number, signal.SIGKILL)
        seconds = patience.PATIENCE if attempt is None else patience.kill_patience(attempt.stop)
        self.loop.call_later(seconds, self._give_up)

    def retire(self) -> None:
        """Take no more attempts, and end with the last one."""
        self.is_taking = False
        if not self._attempts:
            self._finish()

    def _finish(self) -> None:
        """End it: have it run the app's stop hooks, if it has any, or kill it."""
        if not self.zygote.has_stop_hooks or self._link.is_silent:
            self.kill()
        elif not self._is_finishing:
            self._is_finishing = True
            self._link.finish()
            self.loop.call_later(patience.STOP_HOOKS, self.kill)

    def reply(self, attempt: RunnerAttempt, reply: SpawnReply | DurableAnswer | ErrorReply) -> None:
        """Send the reply to a request for jobs, or to a question about progress."""
        if attempt.number in self._attempts and not self._link.is_closed:
            self._link.send(attempt.number, reply)

    def wake_at(self, due: float) -> None:
        """Check at this time what has fallen due. One timer for all: most attempts end before theirs."""
        if due < self._alarm_at:
            if self._alarm is not None:
                self._alarm.cancel()
            self._alarm_at = due
            self._alarm = self.loop.call_at(due, self._wake)

    def _wake(self) -> None:
        self._alarm, self._alarm_at = None, math.inf
        now = self.loop.time()
        unfinished = [attempt for attempt in self._attempts.values() if attempt.ending is None]
        for attempt in unfinished:
            if attempt.due <= now:
                attempt.fall_due()
        self.wake_at(min((attempt.due for attempt in unfinished), default=math.inf))

    def _earliest(self) -> float:
        deadlines = (attempt.stop.deadline for attempt in self._attempts.values())
        return min((deadline for deadline in deadlines if deadline is not None), default=math.inf)

    def _receive(self) -> None:
        try:
            for number, message in self._link.receive():
                attempt = self._attempts.get(number)
                if isinstance(message, RunnerRetiring):
                    self.retire()
                elif number == 0:
                    _pass_on(message)
                elif attempt is not None and attempt.ending is None:  # nothing after its report counts
                    self._take(attempt, message)
        except Garbage as garbage:
            self._garbage = storable(str(garbage))
            self.kill()
        else:
            if self._link.is_silent:
                self.loop.call_later(patience.LINGER, self._kill_lingerer)

    def _take(self, attempt: RunnerAttempt, message: FromRunner) -> None:
        if isinstance(message, Finished):
            attempt.finish(message)
            if self._pipes is not None:
                self._pipes.end()
            if message.is_last:
                self.is_taking = False
                self.loop.call_later(patience.linger(self.zygote), self.kill)
            elif attempt.is_stopping and not self.is_shared:  # its signal could still reach the next attempt
                self.kill()
            else:
                self._settle(attempt)
        else:
            attempt.take(message)

    def _settle(self, attempt: RunnerAttempt) -> None:
        del self._attempts[attempt.number]
        if isinstance(attempt.ending, Exited):
            self._reported_cpu += attempt.ending.cpu
            attempt.settle(attempt.ending)
        if not self.is_taking and not self._attempts:
            self._finish()

    def _kill_lingerer(self) -> None:
        for attempt in self._attempts.values():
            attempt.stop_log.has_lingered = True
        self.kill()

    def _give_up(self) -> None:
        if not self._ending.done():
            self.zygote.hang_up()

    def _end(self, future: "asyncio.Future[ChildExit]") -> None:
        """Settle its attempts, now that it has ended. What it sent before counts, and can still be read."""
        ending = future.result()
        self.is_taking = False
        self._read_rest()
        unfinished = [attempt for attempt in self._attempts.values() if attempt.ending is None]
        for attempt in self._attempts.values():
            attempt.settle(self._ending_of(attempt, ending, is_alone=len(unfinished) == 1))
        self._attempts.clear()
        if isinstance(ending, Exited) and ending.litter is not None:
            self.loop.run_in_executor(None, self.zygote.remove_litter, ending.litter)

    def _read_rest(self) -> None:
        """Take in what is left and close everything."""
        while not self._link.is_empty:
            self._receive()
        self._link.close()
        self._deadline.close()
        if self._pipes is not None:
            self._pipes.end()
            self._pipes.close()
        if self._alarm is not None:
            self._alarm.cancel()

    def _ending_of(
        self, attempt: RunnerAttempt, ending: ChildExit, *, is_alone: bool
    ) -> ChildExit | Collateral:
        match ending:
            case ZygoteLost(is_alone=is_only_child):
                attempt.has_lost_its_zygote = True
                return ending if is_alone and is_only_child else Collateral(ZYGOTE_DIED)
            case Exited(expired=True):
                deadline = attempt.stop.deadline
                is_over = deadline is not None and deadline <= monotonic()
                return ending if is_over else Collateral(_RUNNER_KILLED)
            case Exited() if (
                is_alone and not self._culprits and self._link.is_unread and attempt.is_untouched
            ):
                return Collateral(_RUNNER_DIED)  # it died before the attempt began
            case Exited(cpu=cpu) if attempt in self._culprits or (is_alone and not self._culprits):
                attempt.garbage = attempt.garbage or self._garbage
                return replace(ending, cpu=max(cpu - self._reported_cpu, timedelta(0)))
            case Exited() if self._culprits:
                return Collateral(_RUNNER_KILLED)
            case Exited():
                attempt.has_lost_its_runner = True
                return Collateral(_RUNNER_DIED)
        return ending

    def _opened(self) -> tuple[socket.socket, list[int]]:
        """Our end of the socket, and the runner's descriptors: a shared one writes to our own stderr."""
        ours, theirs = socket.socketpair()
        try:
            output = [os.dup(2), os.dup(2)] if self._pipes is None else self._pipes.theirs
        except OSError:
            ours.close()
            theirs.close()
            raise
        return ours, [theirs.detach(), *output]


def _pass_on(message: FromRunner) -> None:
    """Write what a runner's stop hooks have said to our own standard error: it belongs to no attempt."""
    if isinstance(message, OutputMessage | LogMessage):
        with suppress(OSError):
            os.write(2, message.text.rstrip("\n").encode(errors="replace") + b"\n")
