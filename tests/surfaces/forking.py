"""Commands forked off one process that has imported them, which lives as long as the tests' own does."""

import atexit
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, NoReturn

from tests import canaries
from tests.surfaces import preloaded
from tests.wiretap import makes_a_key

AT_START = ("PYTHON", "LC_", "LANG", "LD_")
"""What begins the names of variables that are read when an interpreter starts, and then no more."""


class Forks:
    """The process that forks."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, preloaded.__file__, str(theirs.fileno())],
                env=environment,
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                # Pipes, as those that take their place: an interpreter looks once what its streams are.
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        atexit.register(self._end)

    def run(
        self, arguments: Sequence[str], folder: Path, environment: Mapping[str, str], patience: float
    ) -> subprocess.CompletedProcess[str]:
        """Run a command until it has ended and nobody holds its streams."""
        request = json.dumps([arguments, str(folder.resolve()), dict(environment)]).encode()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with ours, Path(os.devnull).open("rb") as nothing:
            (output, to_output), (errors, to_errors) = os.pipe(), os.pipe()
            socket.send_fds(
                self._control, [request], [theirs.fileno(), nothing.fileno(), to_output, to_errors]
            )
            theirs.close()
            os.close(to_output)
            os.close(to_errors)
            command = int(ours.recv(32) or self._failed())
            with os.fdopen(output, "rb") as read_output, os.fdopen(errors, "rb") as read_errors:
                try:
                    said = _read((read_output, read_errors), time.monotonic() + patience)
                except TimeoutError:
                    os.kill(command, signal.SIGKILL)
                    raise subprocess.TimeoutExpired(arguments, patience) from None
            texts = [data.decode() for data in said]
            for text in texts:
                canaries.look(f"the output of {arguments}", text, may_show_a_key=makes_a_key([*arguments]))
            return subprocess.CompletedProcess([*arguments], int(ours.recv(32)), *texts)

    def _failed(self) -> NoReturn:
        raise RuntimeError(f"nobody is there to fork: {self._process.communicate()}")

    def _end(self) -> None:
        """It ends when nobody can ask it any more."""
        self._control.close()
        self._process.communicate()


def _read(streams: Sequence[IO[bytes]], deadline: float) -> list[bytes]:
    """All that comes through pipes until they are closed."""
    said = {stream.fileno(): b"" for stream in streams}
    with selectors.DefaultSelector() as waiting:
        for stream in streams:
            waiting.register(stream, selectors.EVENT_READ)
        while waiting.get_map():
            ready = waiting.select(max(0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError
            for key, _ in ready:
                data = os.read(key.fd, 65_536)
                said[key.fd] += data
                if not data:
                    waiting.unregister(key.fileobj)
    return list(said.values())
