"""The worker's ends of the stdout and stderr of a child, or of a runner that takes one attempt at a time."""

import asyncio
import os
import select
from collections.abc import Callable, Iterator

from tenure.execution.parent.output import STREAMS
from tenure.execution.parent.zygote_client import ZygoteClient

FIRST_LOOK = 0.02
"""Seconds before output is looked for: most attempts are over by then, and all of it is in the pipes."""

_AT_ONCE = 65_536
_MOST_READS = 64


class Pipes:
    """Two pipes; `theirs` are the ends for the child, and are closed by the code that hands them over.

    Making them raises `OSError`, and leaves nothing, where descriptors have run out.
    """

    def __init__(self, zygote: ZygoteClient) -> None:
        self._loop = asyncio.get_running_loop()
        self._ours: dict[int, str] = {}
        self.theirs: list[int] = []
        try:
            for level in STREAMS:
                ours, theirs = os.pipe()
                self._ours[ours] = level
                self.theirs.append(theirs)
                os.set_blocking(ours, False)
                zygote.own(theirs)
        except OSError:
            for descriptor in (*self._ours, *self.theirs):
                os.close(descriptor)
            raise
        self._poll: select.poll | None = None
        self._on_output: Callable[[str, bytes], None] | None = None
        self._first_look: asyncio.TimerHandle | None = None
        self._watched: set[int] = set()

    def begin(self, on_output: Callable[[str, bytes], None]) -> None:
        """Pass output to the attempt that begins now. Most have ended before the first look."""
        self._on_output = on_output
        if self._first_look is None:
            self._first_look = self._loop.call_later(FIRST_LOOK, self._watch)

    def end(self) -> None:
        """Take in what the attempt has written, all of which is there; another one may begin."""
        if self._poll is None:
            self._poll = select.poll()
            for pipe in self._ours:
                self._poll.register(pipe, select.POLLIN)
        for _ in range(_MOST_READS):
            ready = self._poll.poll(0)  # one system call where nothing was written, as is usual
            if not [pipe for pipe, _ in ready if self._read(pipe)]:
                break
        for pipe in tuple(self._watched):
            self._unwatch(pipe)
        self._on_output = None

    def drain(self) -> Iterator[str]:
        """Take in what a child that has ended has written; yields each stream when all of it was read."""
        for pipe, level in self._ours.items():
            for _ in range(_MOST_READS):
                if not self._read(pipe):
                    break
            yield level

    def close(self) -> None:
        """Close our ends."""
        if self._first_look is not None:
            self._first_look.cancel()
        for pipe in self._ours:
            self._unwatch(pipe)
            os.close(pipe)

    def _watch(self) -> None:
        self._first_look = None
        if self._on_output is not None:
            for pipe in self._ours:
                self._watched.add(pipe)
                self._loop.add_reader(pipe, self._read, pipe)

    def _unwatch(self, pipe: int) -> None:
        if pipe in self._watched:
            self._watched.remove(pipe)
            self._loop.remove_reader(pipe)

    def _read(self, pipe: int) -> bool:
        """Take in some output; whether there may be more."""
        try:
            data = os.read(pipe, _AT_ONCE)
        except BlockingIOError:
            return False
        if not data:
            self._unwatch(pipe)
        elif self._on_output is not None:
            self._on_output(self._ours[pipe], data)
        return bool(data)
