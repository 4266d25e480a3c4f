"""A program that was started with pipes for what it says, followed until it has ended.

Nothing of `subprocess` is used: whatever is loaded here, every attempt of the app has to bear.
"""

import os
import select
import signal
from collections.abc import Callable, Mapping, Sequence
from typing import Self

_AT_ONCE = 65_536

_LARGEST_PIPE = 1 << 20
"""How much may still be in a pipe when the program has ended."""

_LOOK_EVERY_MS = 50
"""How often to look for the program's end where the kernel cannot tell of it."""

_IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)

Hear = Callable[[bytes], None]


class Spawned:
    """A program that runs."""

    def __init__(self, pid: int, output: int, errors: int) -> None:
        self._pid = pid
        self._output = output
        self._errors = errors

    @classmethod
    def start(cls, arguments: tuple[str, ...], environment: Mapping[str, str], given: bytes) -> Self:
        """Start it, with these bytes on its standard input; raises the OSError that prevents it."""
        ours: list[int] = []
        theirs: list[int] = []
        try:
            theirs.append(_file_of(given))
            for _ in range(2):
                reading, writing = os.pipe()
                ours.append(reading)
                theirs.append(writing)
            pid = os.posix_spawnp(
                arguments[0],
                arguments,
                environment,
                file_actions=[(os.POSIX_SPAWN_DUP2, end, number) for number, end in enumerate(theirs)],
                setsigmask=(),
                setsigdef=_IGNORED_BY_PYTHON,
            )
        except BaseException:
            _close(ours)
            raise
        finally:
            _close(theirs)
        return cls(pid, *ours)

    def follow(self, hear: Hear, hear_error: Hear) -> int:
        """Pass on what it says until it has ended; its exit code, or the signal that killed it below zero.

        Others whom it has started may hold its pipes open beyond its end: they are not waited for.
        """
        hearing = {self._output: hear, self._errors: hear_error}
        is_over = False
        try:
            self._listen(hearing)
            _, status = os.waitpid(self._pid, 0)
            is_over = True
            for pipe, tell in hearing.items():
                _drain(pipe, tell)
        finally:
            if not is_over:
                os.kill(self._pid, signal.SIGKILL)
                os.waitpid(self._pid, 0)
            _close([self._output, self._errors])
        return os.waitstatus_to_exitcode(status)

    def _listen(self, hearing: Mapping[int, Hear]) -> None:
        """Pass on what it says, until it has ended."""
        watched = select.poll()
        for pipe in hearing:
            watched.register(pipe, select.POLLIN)
        end = _watch_for_end(self._pid)
        if end is not None:
            watched.register(end, select.POLLIN)
        try:
            while True:
                ready = [found for found, _ in watched.poll(None if end is not None else _LOOK_EVERY_MS)]
                if end in ready or (end is None and self._has_ended()):
                    return
                for pipe in ready:
                    if data := os.read(pipe, _AT_ONCE):
                        hearing[pipe](data)
                    else:
                        watched.unregister(pipe)
        finally:
            if end is not None:
                os.close(end)

    def _has_ended(self) -> bool:
        ended = os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        return ended is not None


def _watch_for_end(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except OSError:  # a kernel before 5.3, or one that is told to refuse it
        return None


def _drain(pipe: int, tell: Hear) -> None:
    """Pass on what is in the pipe now; who still writes to it must not keep us."""
    os.set_blocking(pipe, False)
    left = _LARGEST_PIPE
    try:
        while left > 0 and (data := os.read(pipe, min(left, _AT_ONCE))):
            left -= len(data)
            tell(data)
    except BlockingIOError:
        pass


def _file_of(content: bytes) -> int:
    """A file without a name that holds this: whoever reads late, in part or never, keeps nobody waiting."""
    file = os.memfd_create("params")
    while content:
        content = content[os.write(file, content) :]
    os.lseek(file, 0, os.SEEK_SET)
    return file


def _close(descriptors: Sequence[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)
