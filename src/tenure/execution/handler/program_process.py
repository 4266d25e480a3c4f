"""A program with pipes for its output, which is read until the program ends.

`subprocess` is not used: every attempt of the app pays for what is loaded here.
"""

import os
import select
import signal
from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import Self

_AT_ONCE = 65_536

_LARGEST_PIPE = 1 << 20
"""How much may still be in a pipe when the program has ended."""

_LOOK_EVERY_MS = 50
"""How often to check whether the program has ended, where the kernel cannot notify."""

_IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)

TICK = 5.0
"""Seconds after which the caller may look after something else."""

OnOutput = Callable[[bytes], None]


class ProgramProcess:
    """A running program."""

    def __init__(self, pid: int, output: int, errors: int) -> None:
        self._pid = pid
        self._output = output
        self._errors = errors

    @classmethod
    def start(cls, arguments: tuple[str, ...], environment: Mapping[str, str], stdin: bytes) -> Self:
        """Start it, with these bytes on its standard input; raises the OSError that prevents it."""
        ours: list[int] = []
        theirs: list[int] = []
        try:
            theirs.append(_file_of(stdin))
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

    def follow(self, on_output: OnOutput, on_error: OnOutput, on_tick: Callable[[], object]) -> int:
        """Pass on its output until it ends; returns its exit code, or minus the signal that killed it.

        `on_tick` is called from time to time.
        Processes that it started may hold its pipes open beyond its end: they are not waited for.
        """
        callbacks = {self._output: on_output, self._errors: on_error}
        is_over = False
        try:
            self._read(callbacks, on_tick)
            _, status = os.waitpid(self._pid, 0)
            is_over = True
            for pipe, callback in callbacks.items():
                _drain(pipe, callback)
        finally:
            if not is_over:
                os.kill(self._pid, signal.SIGKILL)
                os.waitpid(self._pid, 0)
            _close([self._output, self._errors])
        return os.waitstatus_to_exitcode(status)

    def _read(self, callbacks: Mapping[int, OnOutput], on_tick: Callable[[], object]) -> None:
        """Pass on its output until it ends."""
        watched = select.poll()
        for pipe in callbacks:
            watched.register(pipe, select.POLLIN)
        end = _watch_for_end(self._pid)
        if end is not None:
            watched.register(end, select.POLLIN)
        tick_at = monotonic() + TICK
        try:
            while True:
                longest = TICK * 1000 if end is not None else _LOOK_EVERY_MS
                ready = [found for found, _ in watched.poll(longest)]
                if monotonic() >= tick_at:
                    on_tick()
                    tick_at = monotonic() + TICK
                if end in ready or (end is None and self._has_ended()):
                    return
                for pipe in ready:
                    if data := os.read(pipe, _AT_ONCE):
                        callbacks[pipe](data)
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
    except OSError:  # a kernel before 5.3, or a sandbox that refuses the call
        return None


def _drain(pipe: int, callback: OnOutput) -> None:
    """Pass on what is in the pipe now, without waiting for processes that still write to it."""
    os.set_blocking(pipe, False)
    left = _LARGEST_PIPE
    try:
        while left > 0 and (data := os.read(pipe, min(left, _AT_ONCE))):
            left -= len(data)
            callback(data)
    except BlockingIOError:
        pass


def _file_of(content: bytes) -> int:
    """A file without a name that holds this: unlike a pipe it never blocks the writer."""
    file = os.memfd_create("params")
    while content:
        content = content[os.write(file, content) :]
    os.lseek(file, 0, os.SEEK_SET)
    return file


def _close(descriptors: Sequence[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)
