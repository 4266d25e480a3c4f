"""The worker's side of one zygote: starts it, has children started, and learns how they ended."""

import asyncio
import math
import signal
import socket
import sys
from dataclasses import dataclass

from tenure.core.errors import TenureError
from tenure.core.values.failure import Failure
from tenure.execution.handler.handler import AppFailed
from tenure.execution.parent.control_socket import ControlSocket, close_all
from tenure.execution.parent.scratch import place_in, sweep
from tenure.execution.parent.zygote_launch import ZygoteLaunch
from tenure.execution.protocol.frames import LARGEST_MANIFEST, Frames, Garbage, read
from tenure.execution.protocol.messages import (
    FROM_ZYGOTE,
    Broken,
    Exited,
    ForkFailed,
    FromZygote,
    Ping,
    Pong,
    Ready,
    SendSignal,
    Start,
    Until,
)

PING_EVERY = 1.0
"""Seconds between two pings to a zygote that has children."""

MOST_UNANSWERED = 10
"""How many pings may remain unanswered. Counted, not timed: a frozen worker has sent none."""


@dataclass(frozen=True)
class ZygoteLost:
    """The zygote died, or was given up, and no process of it is left; `is_alone`: it had no other child."""

    is_alone: bool


ChildExit = Exited | ForkFailed | ZygoteLost
"""How a child ended."""


class ZygoteClient:
    """One zygote and its children, known by number."""

    def __init__(self, launch: ZygoteLaunch) -> None:
        self._launch = launch
        self._loop = asyncio.get_running_loop()
        self._ready: asyncio.Future[Ready] = self._loop.create_future()
        self._frames = Frames(LARGEST_MANIFEST)
        self._endings: dict[int, asyncio.Future[ChildExit]] = {}
        self._count = 0
        self._unanswered = 0
        self._is_watching = False
        self._lost = ZygoteLost(is_alone=False)
        self._gone: asyncio.Future[None] | None = None
        self.is_open = False
        self.has_stop_hooks = False
        """Whether processes that it forks have something to do at their end."""

    @property
    def is_gone(self) -> bool:
        """Whether it was open once, and no process of it is left."""
        return self._gone is not None and self._gone.done()

    async def open(self) -> Ready:
        """Start the zygote; raises `AppFailed` when it cannot import the app."""
        if sys.platform != "linux":
            raise TenureError("attempts in processes of their own need Linux")
        await asyncio.to_thread(sweep, place_in(self._launch.environment))
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                self._process, self._scratch = self._launch.start(theirs)
            except OSError as error:
                ours.close()
                raise AppFailed(self._launch.target, Failure(type(error).__name__, str(error))) from error
        self._control = ControlSocket(ours)
        self._loop.add_reader(self._control.fileno(), self._receive)
        self.is_open = True
        try:
            return await self._ready
        except BaseException:
            await self.close()
            raise

    def start(
        self, descriptors: list[int], deadline: float | None = None, lane: str = ""
    ) -> tuple[int, asyncio.Future[ChildExit]]:
        """Start a child with these descriptors, which are closed here; returns its number and its ending.

        With a deadline it is killed then, unless it is prolonged. With a lane it is a runner of that lane.
        """
        self._count += 1
        ending: asyncio.Future[ChildExit] = self._loop.create_future()
        if self.is_open:
            self._endings[self._count] = ending
            start = Start(self._count, math.inf if deadline is None else deadline, lane)
            self._control.send(start, descriptors)
            if not self._is_watching:
                self._is_watching = True
                self._unanswered = 0
                self._loop.call_later(PING_EVERY, self._watch)
        else:
            close_all(descriptors)
            ending.set_result(ZygoteLost(is_alone=False))
        return self._count, ending

    def own(self, descriptor: int) -> None:
        """Let children reopen a pipe that they write to, as programs do with `/dev/stdout`."""
        if self._launch.user is not None:
            self._launch.user.own(descriptor)

    def remove_litter(self, folder: str) -> None:
        """Remove what a child left; blocks."""
        self._scratch.remove_litter(folder)

    @property
    def children(self) -> int:
        """How many children were started so far."""
        return self._count

    def signal(self, number: int, sent: int) -> None:
        """Send a signal to a child's group."""
        if self.is_open:
            self._control.send(SendSignal(number, sent), [])

    def prolong(self, number: int, deadline: float) -> None:
        """Let a child live until this deadline."""
        if self.is_open:
            self._control.send(Until(number, deadline), [])

    async def close(self) -> None:
        """Have the guard kill every process, and wait until it has."""
        self._hang_up(ZygoteLost(is_alone=False))
        if self._gone is not None:
            await asyncio.shield(self._gone)
        self._lose_children()

    def hang_up(self) -> None:
        """Close the connection to the zygote; the guard notices and kills every process."""
        self._hang_up(ZygoteLost(is_alone=len(self._endings) == 1))

    def _hang_up(self, lost: ZygoteLost) -> None:
        if self.is_open:
            self.is_open = False
            self._lost = lost
            self._loop.remove_reader(self._control.fileno())
            self._control.close()
            self._gone = self._loop.run_in_executor(None, self._await_guard)
            self._gone.add_done_callback(lambda _: self._lose_children())
            self._resume_guard()

    def _await_guard(self) -> None:
        """Wait for the guard's end; the guard removes the folder, unless it was killed."""
        self._launch.guards.wait(self._process)
        self._scratch.remove()

    def _resume_guard(self) -> None:
        """Resume the guard until it has ended: a signal that stopped the zygote may have stopped it too."""
        if not self.is_gone:
            self._process.send_signal(signal.SIGCONT)
            self._loop.call_later(PING_EVERY, self._resume_guard)

    def _watch(self) -> None:
        """Ping the zygote as long as it has children; hang up when it does not answer.

        A child may stop its zygote, which then starts, kills and reports nothing any more.
        """
        self._receive()  # first what came while this process itself was busy, or frozen
        self._is_watching = self.is_open and bool(self._endings)
        if not self._is_watching:
            return
        if self._unanswered >= MOST_UNANSWERED:
            self.hang_up()
            return
        self._unanswered += 1
        self._control.send(Ping(), [])
        self._loop.call_later(PING_EVERY, self._watch)

    def _receive(self) -> None:
        if not self.is_open:
            return
        try:
            data = self._control.receive()
            for body in self._frames.feed(data):
                self._take(read(FROM_ZYGOTE, body))
        except BlockingIOError:
            return
        except (OSError, Garbage):
            data = b""
        if not data:
            self.hang_up()

    def _take(self, message: FromZygote) -> None:
        self._unanswered = 0
        match message:
            case Pong():
                pass
            case Ready(has_stop_hooks=has_stop_hooks):
                self.has_stop_hooks |= has_stop_hooks
                self._ready.set_result(message)
            case Broken(error):
                self._ready.set_exception(AppFailed(self._launch.target, error))
            case Exited(number) | ForkFailed(number):
                ending = self._endings.pop(number, None)
                if ending is not None and not ending.done():
                    ending.set_result(message)

    def _lose_children(self) -> None:
        if not self._ready.done():
            code = self._process.returncode
            error = Failure("ZygoteDied", f"the process that imports it ended with code {code}")
            self._ready.set_exception(AppFailed(self._launch.target, error))
        for ending in self._endings.values():
            if not ending.done():
                ending.set_result(self._lost)
        self._endings.clear()
