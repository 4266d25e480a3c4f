"""The worker's side of one runner: a child that takes attempts, one after another or many at once.

An attempt in it ends by its own last word. When the runner ends before that, the question is whose doing it
was. Killed by us, because of one of them: the others are swept away with it. Alone in it: it was that one.
Otherwise nobody can say, and all of them are handed back, to be run apart the next time.
"""

import asyncio
import math
import os
import signal
import socket
from datetime import timedelta
from functools import partial
from time import monotonic

from msgspec.structs import replace

from tenure.core.outcome import Failure
from tenure.core.text import storable
from tenure.execution.attempt import LINGER, PATIENCE, patience
from tenure.execution.endings import ZYGOTE_DIED, Swept
from tenure.execution.guest import Guest
from tenure.execution.link import Link
from tenure.execution.nursery import Ending, Lost, Nursery
from tenure.execution.pipes import Pipes
from tenure.execution.protocol import (
    Begin,
    Cancel,
    Exited,
    Finished,
    FromRunner,
    Garbage,
    Refused,
    Spawned,
    Spent,
)
from tenure.execution.tether import Tether

_RUNNER_DIED = Failure("RunnerDied", "the process that ran it together with others has died")
_RUNNER_KILLED = Failure("RunnerKilled", "the process that ran it was killed to stop another attempt in it")


class Runner:
    """One runner and the attempts in it; where it is not shared, one attempt at a time, with pipes.

    Making one raises `OSError`, and leaves nothing, where descriptors have run out.
    """

    def __init__(self, nursery: Nursery, lane: str, *, is_shared: bool) -> None:
        self.loop = asyncio.get_running_loop()
        self.nursery = nursery
        self.is_shared = is_shared
        self.is_taking = True
        """Whether it takes more attempts."""
        self.born = monotonic()
        self.served = 0
        self._guests: dict[int, Guest] = {}
        self._culprits: set[Guest] = set()
        self._garbage: str | None = None
        self._told_cpu = timedelta(0)
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_at = math.inf
        self._pipes = None if is_shared else Pipes()
        try:
            ours, given = self._opened()
        except OSError:
            if self._pipes is not None:
                for descriptor in self._pipes.theirs:
                    os.close(descriptor)
                self._pipes.close()
            raise
        self._link = Link(ours, self._receive)
        self._number, self._ending = nursery.start(given, None, lane)
        self._ending.add_done_callback(self._end)
        self._tether = Tether(self._earliest, partial(nursery.prolong, self._number))

    def takes_from(self, nursery: Nursery) -> bool:
        """Whether it takes another attempt; not if its zygote was replaced and its end is yet to come."""
        return self.is_taking and self.nursery is nursery

    async def gone(self) -> None:
        """Wait until nobody of it is left."""
        await asyncio.wait({self._ending})
        await asyncio.sleep(0)  # until what follows from that is done, too

    def take(self, guest: Guest, begin: Begin) -> None:
        """Begin an attempt; raises `Garbage` when it is too large to be told of."""
        guest.number = self.served + 1
        self._tether.hold(guest.halt.deadline)  # first: from the next line on it may run without us
        self._link.send(guest.number, begin, at_once=not self._guests)
        self.served += 1
        self._guests[guest.number] = guest
        guest.halt.on_prolonged(self._tether.move)
        guest.halt.on_asked(guest.look)
        self.wake_at(guest.due)
        if self._pipes is not None:
            self._pipes.begin(guest.feed)

    def ask_to_stop(self, guest: Guest) -> None:
        """Pass on that an attempt is to stop; where it is alone, to what it runs as well."""
        self._link.send(guest.number, Cancel())
        if not self.is_shared:
            self.nursery.signal(self._number, signal.SIGTERM)

    def kill(self, guest: Guest | None = None) -> None:
        """Kill it, because of one of its attempts or because it is not needed any more."""
        self.is_taking = False
        if self._ending.done():
            return
        if guest is not None:
            self._culprits.add(guest)
        self.nursery.signal(self._number, signal.SIGKILL)
        self.loop.call_later(PATIENCE if guest is None else patience(guest.halt), self._give_up)

    def retire(self) -> None:
        """Take no more attempts, and end with the last one."""
        self.is_taking = False
        if not self._guests:
            self.kill()

    def answer(self, guest: Guest, answer: Spawned | Refused) -> None:
        """Pass on what came of the jobs that an attempt asked for."""
        if guest.number in self._guests and not self._link.is_closed:
            self._link.send(guest.number, answer)

    def wake_at(self, due: float) -> None:
        """Look for what has fallen due then. One timer for all: most attempts have ended before theirs."""
        if due < self._alarm_at:
            if self._alarm is not None:
                self._alarm.cancel()
            self._alarm_at = due
            self._alarm = self.loop.call_at(due, self._wake)

    def _wake(self) -> None:
        self._alarm, self._alarm_at = None, math.inf
        now = self.loop.time()
        inside = [guest for guest in self._guests.values() if guest.ending is None]
        for guest in inside:
            if guest.due <= now:
                guest.fall_due()
        self.wake_at(min((guest.due for guest in inside), default=math.inf))

    def _earliest(self) -> float:
        deadlines = (guest.halt.deadline for guest in self._guests.values())
        return min((deadline for deadline in deadlines if deadline is not None), default=math.inf)

    def _receive(self) -> None:
        try:
            for number, message in self._link.receive():
                guest = self._guests.get(number)
                if isinstance(message, Spent):
                    self.retire()
                elif guest is not None and guest.ending is None:  # nothing after its last word counts
                    self._take(guest, message)
        except Garbage as garbage:
            self._garbage = storable(str(garbage))
            self.kill()
        else:
            if self._link.is_silent:
                self.loop.call_later(LINGER, self._kill_lingerer)

    def _take(self, guest: Guest, message: FromRunner) -> None:
        if isinstance(message, Finished):
            guest.finish(message)
            if self._pipes is not None:
                self._pipes.end()
            if message.is_last:
                self.is_taking = False
                self.loop.call_later(LINGER, self.kill)
            elif guest.is_stopping and not self.is_shared:  # the signal may still be on its way to the next
                self.kill()
            else:
                self._let_go(guest)
        else:
            guest.take(message)

    def _let_go(self, guest: Guest) -> None:
        del self._guests[guest.number]
        if isinstance(guest.ending, Exited):
            self._told_cpu += guest.ending.cpu
            guest.settle(guest.ending)
        if not self.is_taking and not self._guests:
            self.kill()

    def _kill_lingerer(self) -> None:
        for guest in self._guests.values():
            guest.course.has_lingered = True
        self.kill()

    def _give_up(self) -> None:
        if not self._ending.done():
            self.nursery.hang_up()

    def _end(self, future: "asyncio.Future[Ending]") -> None:
        """It has ended. What it said before that counts, and is all there to be read."""
        ending = future.result()
        self.is_taking = False
        self._hear_out()
        inside = [guest for guest in self._guests.values() if guest.ending is None]
        for guest in self._guests.values():
            guest.settle(self._fate(guest, ending, is_alone=len(inside) == 1))
        self._guests.clear()
        if isinstance(ending, Exited) and ending.litter is not None:
            self.loop.run_in_executor(None, self.nursery.remove_litter, ending.litter)

    def _hear_out(self) -> None:
        """Take in the rest and close everything."""
        while not self._link.is_empty:
            self._receive()
        self._link.close()
        self._tether.close()
        if self._pipes is not None:
            self._pipes.end()
            self._pipes.close()
        if self._alarm is not None:
            self._alarm.cancel()

    def _fate(self, guest: Guest, ending: Ending, *, is_alone: bool) -> Ending | Swept:
        match ending:
            case Lost(is_alone=is_only_child):
                guest.has_lost_its_zygote = True
                return ending if is_alone and is_only_child else Swept(ZYGOTE_DIED)
            case Exited(expired=True):
                deadline = guest.halt.deadline
                is_over = deadline is not None and deadline <= monotonic()
                return ending if is_over else Swept(_RUNNER_KILLED)
            case Exited() if is_alone and not self._culprits and self._link.is_unread and guest.is_untouched:
                return Swept(_RUNNER_DIED)  # it was dead before
            case Exited(cpu=cpu) if guest in self._culprits or (is_alone and not self._culprits):
                guest.garbage = guest.garbage or self._garbage
                return replace(ending, cpu=max(cpu - self._told_cpu, timedelta(0)))
            case Exited() if self._culprits:
                return Swept(_RUNNER_KILLED)
            case Exited():
                guest.has_lost_its_runner = True
                return Swept(_RUNNER_DIED)
        return ending

    def _opened(self) -> tuple[socket.socket, list[int]]:
        """Our end of the socket, and what the runner is given: to those who share it, our own stderr."""
        ours, theirs = socket.socketpair()
        try:
            for written in [] if self._pipes is None else self._pipes.theirs:
                self.nursery.own(written)
            output = [os.dup(2), os.dup(2)] if self._pipes is None else self._pipes.theirs
        except OSError:
            ours.close()
            theirs.close()
            raise
        return ours, [theirs.detach(), *output]
