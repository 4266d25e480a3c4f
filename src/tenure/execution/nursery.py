"""The worker's side of one zygote: starts it, asks it for children, and is told of their ends."""

import asyncio
import math
import os
import signal
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tenure.core.errors import TenureError
from tenure.core.outcome import Failure
from tenure.execution import limits
from tenure.execution.guards import Guards
from tenure.execution.handler import AppFailed
from tenure.execution.protocol import (
    ANEW,
    ANY,
    FROM_ZYGOTE,
    LARGEST_MANIFEST,
    OWN,
    Broken,
    Exited,
    Frames,
    FromZygote,
    Garbage,
    Ping,
    Pong,
    Ready,
    Signal,
    Start,
    ToZygote,
    Unborn,
    Until,
    frame,
    read,
)
from tenure.execution.scratch import Scratch, place_in, sweep
from tenure.execution.user import User

PING_EVERY = 1.0
"""Seconds after which a zygote that has children is asked for a sign of life, again and again."""

MOST_UNANSWERED = 10
"""How often it may fail to give one. Counted, not timed: who was frozen himself has not asked."""


@dataclass(frozen=True)
class Lost:
    """The zygote has died, or was given up, and nobody of it is left; `is_alone`: it had no other child."""

    is_alone: bool


Ending = Exited | Unborn | Lost
"""How a child ended."""

_AT_ONCE = 65_536


class Nursery:
    """One zygote and its children, known by number."""

    def __init__(
        self,
        target: str,
        folder: Path,
        spares: int,
        environment: Mapping[str, str],
        guards: Guards,
        *,
        anew: bool = False,
        user: User | None = None,
        keeps_signals: bool = False,
    ) -> None:
        """With `anew` the zygote imports nothing of the app's: each of its children does.

        With a `user` all of them are that user's. With `keeps_signals` its children can send signals to none
        but their own processes.
        """
        self._target = target
        self._anew = anew
        self._user = user
        self._signals = OWN if keeps_signals else ANY
        self._folder = folder
        self._spares = spares
        self._environment = limits.inherited(environment)
        self._guards = guards
        self._loop = asyncio.get_running_loop()
        self._ready: asyncio.Future[Ready] = self._loop.create_future()
        self._frames = Frames(LARGEST_MANIFEST)
        self._unsent: deque[tuple[bytes, list[int]]] = deque()
        self._is_behind = False
        self._endings: dict[int, asyncio.Future[Ending]] = {}
        self._count = 0
        self._unanswered = 0
        self._is_watching = False
        self._lost = Lost(is_alone=False)
        self._gone: asyncio.Future[None] | None = None
        self.is_open = False

    @property
    def is_gone(self) -> bool:
        """Whether it was open once, and nobody of it is left."""
        return self._gone is not None and self._gone.done()

    async def open(self) -> Ready:
        """Start the zygote; raises `AppFailed` when it cannot import the app."""
        if sys.platform != "linux":
            raise TenureError("attempts in processes of their own need Linux")
        await asyncio.to_thread(sweep, place_in(self._environment))
        self._control, theirs = socket.socketpair()
        with theirs:
            try:
                self._process = self._launched(theirs)
            except OSError as error:
                self._control.close()
                raise AppFailed(self._target, Failure(type(error).__name__, str(error))) from error
        self._control.setblocking(False)
        self._loop.add_reader(self._control.fileno(), self._receive)
        self.is_open = True
        try:
            return await self._ready
        except BaseException:
            await self.close()
            raise

    def start(
        self, descriptors: list[int], deadline: float | None = None, lane: str = ""
    ) -> tuple[int, asyncio.Future[Ending]]:
        """Have a child started with these descriptors, which are closed here; its number, and its ending.

        With a deadline it is killed then, unless it is prolonged. With a lane it is a runner of that lane.
        """
        self._count += 1
        ending: asyncio.Future[Ending] = self._loop.create_future()
        if self.is_open:
            self._endings[self._count] = ending
            self._send(Start(self._count, math.inf if deadline is None else deadline, lane), descriptors)
            if not self._is_watching:
                self._is_watching = True
                self._unanswered = 0
                self._loop.call_later(PING_EVERY, self._watch)
        else:
            _close(descriptors)
            ending.set_result(Lost(is_alone=False))
        return self._count, ending

    def own(self, descriptor: int) -> None:
        """Let children open anew what they write to, as programs do with `/dev/stdout`."""
        if self._user is not None:
            self._user.own(descriptor)

    def remove_litter(self, folder: str) -> None:
        """Remove what a child has left; blocks."""
        self._scratch.remove_litter(folder)

    @property
    def children(self) -> int:
        """How many were asked for so far."""
        return self._count

    def signal(self, number: int, sent: int) -> None:
        """Have a signal sent to a child's group."""
        if self.is_open:
            self._send(Signal(number, sent), [])

    def prolong(self, number: int, deadline: float) -> None:
        """Have a child killed then, and not before."""
        if self.is_open:
            self._send(Until(number, deadline), [])

    async def close(self) -> None:
        """Let the guard end everybody, and wait until it has."""
        self._hang_up(Lost(is_alone=False))
        if self._gone is not None:
            await asyncio.shield(self._gone)
        self._lose_everybody()

    def hang_up(self) -> None:
        """Stop talking to the zygote; the guard notices and ends everybody."""
        self._hang_up(Lost(is_alone=len(self._endings) == 1))

    def _hang_up(self, lost: Lost) -> None:
        if self.is_open:
            self.is_open = False
            self._lost = lost
            self._loop.remove_reader(self._control.fileno())
            self._loop.remove_writer(self._control.fileno())
            self._control.close()
            while self._unsent:
                _close(self._unsent.popleft()[1])
            self._gone = self._loop.run_in_executor(None, self._await_guard)
            self._gone.add_done_callback(lambda _: self._lose_everybody())
            self._resume_guard()

    def _await_guard(self) -> None:
        """Wait for the guard's end; it removes the folder, unless somebody has killed it."""
        self._guards.wait(self._process)
        self._scratch.remove()

    def _resume_guard(self) -> None:
        """Who has stopped the zygote may have stopped the guard too, which then ends nobody."""
        if not self.is_gone:
            self._process.send_signal(signal.SIGCONT)
            self._loop.call_later(PING_EVERY, self._resume_guard)

    def _watch(self) -> None:
        """Ask the zygote for a sign of life as long as it has children; hang up when it gives none.

        A child may stop its zygote, which then starts, ends and tells nothing any more.
        """
        self._receive()  # first what came while this process itself was busy, or frozen
        self._is_watching = self.is_open and bool(self._endings)
        if not self._is_watching:
            return
        if self._unanswered >= MOST_UNANSWERED:
            self.hang_up()
            return
        self._unanswered += 1
        self._send(Ping(), [])
        self._loop.call_later(PING_EVERY, self._watch)

    def _launched(self, control: socket.socket) -> subprocess.Popen[bytes]:
        self._scratch = Scratch.make(place_in(self._environment), self._user)
        try:
            return self._guards.start(lambda: self._started(control))
        except OSError:
            self._scratch.remove()
            raise

    def _started(self, control: socket.socket) -> subprocess.Popen[bytes]:
        user = self._user
        return subprocess.Popen(
            [
                sys.executable,
                "-m",
                "tenure.execution.zygote",
                str(control.fileno()),
                self._target,
                str(self._spares),
                str(self._scratch.for_attempts),
                self._signals,
                *([ANEW] if self._anew else []),
            ],
            cwd=self._folder,
            env=self._environment | {"PYTHONPATH": _own_path(), **limits.EAGER},
            stdin=subprocess.DEVNULL,
            stdout=2,  # what a module prints at import is for the operator, not for who reads our output
            pass_fds=[control.fileno()],
            start_new_session=True,
            # Before it is executed: it ties itself to its parent's death, and a later change would untie it.
            user=None if user is None else user.uid,
            group=None if user is None else user.gid,
            extra_groups=None if user is None else user.groups,
        )

    def _send(self, message: ToZygote, descriptors: list[int]) -> None:
        self._unsent.append((frame(message), descriptors))
        if len(self._unsent) == 1:
            self._flush()

    def _flush(self) -> None:
        while self._unsent:
            data, descriptors = self._unsent[0]
            try:
                sent = (
                    socket.send_fds(self._control, [data], descriptors)
                    if descriptors
                    else self._control.send(data)
                )
            except BlockingIOError:
                self._is_behind = True
                self._loop.add_writer(self._control.fileno(), self._flush)
                return
            except OSError:  # the zygote is gone; the reader is told so too
                sent = len(data)
            _close(descriptors)
            if sent < len(data):
                self._unsent[0] = (data[sent:], [])
            else:
                self._unsent.popleft()
        if self._is_behind:
            self._is_behind = False
            self._loop.remove_writer(self._control.fileno())

    def _receive(self) -> None:
        if not self.is_open:
            return
        try:
            data = self._control.recv(_AT_ONCE)
            for body in self._frames.feed(data):
                self._hear(read(FROM_ZYGOTE, body))
        except BlockingIOError:
            return
        except (OSError, Garbage):
            data = b""
        if not data:
            self.hang_up()

    def _hear(self, message: FromZygote) -> None:
        self._unanswered = 0
        match message:
            case Pong():
                pass
            case Ready():
                self._ready.set_result(message)
            case Broken(error):
                self._ready.set_exception(AppFailed(self._target, error))
            case Exited(number) | Unborn(number):
                ending = self._endings.pop(number, None)
                if ending is not None and not ending.done():
                    ending.set_result(message)

    def _lose_everybody(self) -> None:
        if not self._ready.done():
            code = self._process.returncode
            error = Failure("ZygoteDied", f"the process that imports it ended with code {code}")
            self._ready.set_exception(AppFailed(self._target, error))
        for ending in self._endings.values():
            if not ending.done():
                ending.set_result(self._lost)
        self._endings.clear()


def _own_path() -> str:
    """Where this process finds modules beside those that every interpreter of its kind knows."""
    return os.pathsep.join(place for place in sys.path if place)


def _close(descriptors: list[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)
