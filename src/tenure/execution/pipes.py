"""The worker's ends of a runner's stdout and stderr, where one attempt at a time writes to them."""

import asyncio
import os
import select
from collections.abc import Callable

from tenure.execution.attempt import FIRST_LOOK

_LEVELS = ("stdout", "stderr")
_AT_ONCE = 65_536
_MOST_READS = 64


class Pipes:
    """Two pipes; `theirs` are the ends that the runner is given, and are closed by whoever gives them.

    Making them raises `OSError`, and leaves nothing, where descriptors have run out.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._ours: dict[int, str] = {}
        self.theirs: list[int] = []
        try:
            for level in _LEVELS:
                ours, theirs = os.pipe()
                os.set_blocking(ours, False)
                self._ours[ours] = level
                self.theirs.append(theirs)
        except OSError:
            for descriptor in (*self._ours, *self.theirs):
                os.close(descriptor)
            raise
        self._written = select.poll()
        for pipe in self._ours:
            self._written.register(pipe, select.POLLIN)
        self._feed: Callable[[str, bytes], None] | None = None
        self._first_look: asyncio.TimerHandle | None = None
        self._watched: set[int] = set()

    def begin(self, feed: Callable[[str, bytes], None]) -> None:
        """From now on it is this attempt that writes. Most have ended before anybody looks."""
        self._feed = feed
        if self._first_look is None:
            self._first_look = self._loop.call_later(FIRST_LOOK, self._watch)

    def end(self) -> None:
        """Take in what the attempt has written, all of which is there."""
        for _ in range(_MOST_READS):
            ready = self._written.poll(0)  # one call of the kernel where nothing was written, as is usual
            if not [pipe for pipe, _ in ready if self._read(pipe)]:
                break
        for pipe in tuple(self._watched):
            self._unwatch(pipe)
        self._feed = None

    def close(self) -> None:
        """Close our ends."""
        if self._first_look is not None:
            self._first_look.cancel()
        for pipe in self._ours:
            self._unwatch(pipe)
            os.close(pipe)

    def _watch(self) -> None:
        self._first_look = None
        if self._feed is not None:
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
        elif self._feed is not None:
            self._feed(self._ours[pipe], data)
        return bool(data)
