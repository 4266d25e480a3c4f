"""Forks commands off one process that has imported them, which lives as long as the tests' own process."""

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
"""Prefixes of variables that an interpreter reads only when it starts."""


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
                # Pipes, like those that replace them: an interpreter checks its streams only once.
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        atexit.register(self._end)

    def run(
        self, arguments: Sequence[str], folder: Path, environment: Mapping[str, str], patience: float
    ) -> subprocess.CompletedProcess[str]:
        """Run a command until it has ended and its streams are closed."""
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
                    outputs = _read((read_output, read_errors), time.monotonic() + patience)
                except TimeoutError:
                    os.kill(command, signal.SIGKILL)
                    raise subprocess.TimeoutExpired(arguments, patience) from None
            texts = [data.decode() for data in outputs]
            for text in texts:
                canaries.look(f"the output of {arguments}", text, may_show_a_key=makes_a_key([*arguments]))
            return subprocess.CompletedProcess([*arguments], int(ours.recv(32)), *texts)

    def _failed(self) -> NoReturn:
        raise RuntimeError(f"the forking process has ended: {self._process.communicate()}")

    def _end(self) -> None:
        """Close the socket: the process ends when it can get no more requests."""
        self._control.close()
        self._process.communicate()


def _read(streams: Sequence[IO[bytes]], deadline: float) -> list[bytes]:
    """Read pipes until they are closed."""
    outputs = {stream.fileno(): b"" for stream in streams}
    with selectors.DefaultSelector() as waiting:
        for stream in streams:
            waiting.register(stream, selectors.EVENT_READ)
        while waiting.get_map():
            ready = waiting.select(max(0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError
            for key, _ in ready:
                data = os.read(key.fd, 65_536)
                outputs[key.fd] += data
                if not data:
                    waiting.unregister(key.fileobj)
    return list(outputs.values())
