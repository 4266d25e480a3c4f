"""The worker's side of one zygote: starts it, asks it for children, and is told of their ends."""

import asyncio
import os
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Mapping
from pathlib import Path

from tenure.core.errors import TenureError
from tenure.core.outcome import Failure
from tenure.execution import limits
from tenure.execution.handler import AppFailed
from tenure.execution.protocol import (
    FROM_ZYGOTE,
    LARGEST_MANIFEST,
    Broken,
    Exited,
    Frames,
    FromZygote,
    Garbage,
    Ready,
    Signal,
    Start,
    ToZygote,
    Unborn,
    Until,
    frame,
    read,
)

Ending = Exited | Unborn | None
"""How a child ended; None where its zygote did, of which then nobody is left."""

_AT_ONCE = 65_536


class Nursery:
    """One zygote and its children, known by number."""

    def __init__(self, target: str, folder: Path, spares: int, environment: Mapping[str, str]) -> None:
        self._target = target
        self._folder = folder
        self._spares = spares
        self._environment = limits.inherited(environment)
        self._loop = asyncio.get_running_loop()
        self._ready: asyncio.Future[Ready] = self._loop.create_future()
        self._frames = Frames(LARGEST_MANIFEST)
        self._unsent: deque[tuple[bytes, list[int]]] = deque()
        self._endings: dict[int, asyncio.Future[Ending]] = {}
        self._count = 0
        self._gone: asyncio.Future[int] | None = None
        self.is_open = False

    async def open(self) -> Ready:
        """Start the zygote; raises `AppFailed` when it cannot import the app."""
        if sys.platform != "linux":
            raise TenureError("attempts in processes of their own need Linux")
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

    def start(self, descriptors: list[int]) -> tuple[int, asyncio.Future[Ending]]:
        """Have a child started with these descriptors, which are closed here; its number, and its ending."""
        self._count += 1
        ending = self._endings[self._count] = self._loop.create_future()
        if self.is_open:
            self._send(Start(self._count), descriptors)
        else:
            _close(descriptors)
            ending.set_result(None)
        return self._count, ending

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
        self.hang_up()
        if self._gone is not None:
            await asyncio.shield(self._gone)
        self._lose_everybody()

    def hang_up(self) -> None:
        """Stop talking to the zygote; the guard notices and ends everybody."""
        if self.is_open:
            self.is_open = False
            self._loop.remove_reader(self._control.fileno())
            self._loop.remove_writer(self._control.fileno())
            self._control.close()
            while self._unsent:
                _close(self._unsent.popleft()[1])
            self._gone = self._loop.run_in_executor(None, self._process.wait)
            self._gone.add_done_callback(lambda _: self._lose_everybody())

    def _launched(self, control: socket.socket) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [
                sys.executable,
                "-m",
                "tenure.execution.zygote",
                str(control.fileno()),
                self._target,
                str(self._spares),
            ],
            cwd=self._folder,
            env=self._environment | {"PYTHONPATH": _own_path()},
            stdin=subprocess.DEVNULL,
            stdout=2,  # what a module prints at import is for the operator, not for who reads our output
            pass_fds=[control.fileno()],
            start_new_session=True,
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
                self._loop.add_writer(self._control.fileno(), self._flush)
                return
            except OSError:  # the zygote is gone; the reader is told so too
                sent = len(data)
            _close(descriptors)
            if sent < len(data):
                self._unsent[0] = (data[sent:], [])
            else:
                self._unsent.popleft()
        self._loop.remove_writer(self._control.fileno())

    def _receive(self) -> None:
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
        match message:
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
                ending.set_result(None)
        self._endings.clear()


def _own_path() -> str:
    """Where this process finds modules beside those that every interpreter of its kind knows."""
    return os.pathsep.join(place for place in sys.path if place)


def _close(descriptors: list[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)
