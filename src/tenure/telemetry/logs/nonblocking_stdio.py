"""Writes lines to a stream without blocking the caller, even if no process reads the stream.

A pipe without a reader takes 64 KiB and then blocks its writer. If that were the event loop, it would send no
heartbeat and lose every lease, because of an unread log. So a thread writes. The queue before it is bounded:
what finds it full is dropped, and the count of dropped lines is written first when there is room again.

The thread writes the first line at once and then rests for a moment: what comes meanwhile goes out together.
Other writers to the stream must not cut into our lines, so one write holds no more than a pipe takes in one
piece, except for a single longer line. A file gets larger writes: each write is a switch of threads.
"""

import os
import select
import stat
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")

MOST_WAITING = 10_000
"""How many items may wait to be written."""

REST = 0.1
"""Seconds between two writes."""

LARGEST_PIECE = 65_536
"""Bytes in one write to a file."""

PATIENCE = 2.0
"""Seconds without any progress after which a process that ends no longer waits for a reader."""

MOST_PATIENCE = 10.0
"""Seconds that it waits in all, for a reader that is slow."""

Form = Callable[[Sequence[T], int], Iterable[bytes]]
"""Formats the items that wait, and the number dropped before them, as lines.

Best one at a time: each write lets other threads go on. Thousands of lines formatted before the first write
would keep the event loop waiting for the interpreter's lock.
"""


class NonblockingStdio(Generic[T]):
    """Writes to a descriptor. A caller that puts an item in does not wait."""

    def __init__(self, descriptor: int, form: Form[T], *, most_waiting: int = MOST_WAITING) -> None:
        """`form` runs in the writing thread."""
        self._descriptor = descriptor
        is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
        self._piece = LARGEST_PIECE if is_file else select.PIPE_BUF
        self._form = form
        self._most = most_waiting
        self._waiting: deque[T] = deque()
        self.dropped = 0
        """How many items were dropped so far."""
        self._reported = 0
        """How many of these a line has reported."""
        self._written = 0
        """How many pieces the stream has taken, also in part."""
        self._counting = threading.Lock()
        self._woken = threading.Event()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="nonblocking-stdio", daemon=True)
        self._thread.start()

    def put(self, one: T) -> None:
        """Write an item soon, or drop and count it if too many wait."""
        if len(self._waiting) >= self._most:
            self._drop(1)
            return
        self._waiting.append(one)
        if not self._woken.is_set():
            self._woken.set()

    def put_if_room(self, one: T) -> None:
        """Write an item soon, or drop it if half of the places are taken: the rest is for `put`."""
        if 2 * len(self._waiting) >= self._most:
            self._drop(1)
        else:
            self.put(one)

    def close(self, patience: float = PATIENCE, most: float = MOST_PATIENCE) -> None:
        """Write what is left, as long as the reader goes on within so many seconds; else the rest is lost."""
        self._closing.set()
        self._woken.set()
        latest = time.monotonic() + most
        written = -1
        while self._thread.is_alive() and self._written != written and time.monotonic() < latest:
            written = self._written
            self._thread.join(patience)

    def _run(self) -> None:
        while not self._closing.is_set():
            self._woken.wait()
            self._write()
            self._closing.wait(REST)
        self._write()

    def _write(self) -> None:
        self._woken.clear()
        gathered = [self._waiting.popleft() for _ in range(len(self._waiting))]
        dropped = self.dropped
        if not gathered and dropped == self._reported:
            return
        try:
            for piece in _pieces(self._form(gathered, dropped - self._reported), self._piece):
                self._write_out(piece)
        except Exception:  # the reader is gone, or `form` has a bug: later items must still be written
            self._drop(len(gathered))
        else:
            self._reported = dropped

    def _drop(self, count: int) -> None:
        with self._counting:
            self.dropped += count

    def _write_out(self, piece: bytes) -> None:
        while piece:
            try:
                piece = piece[os.write(self._descriptor, piece) :]
                self._written += 1
            except BlockingIOError:  # another process that shares the stream made it non-blocking
                select.select([], [self._descriptor], [])


def _pieces(lines: Iterable[bytes], most: int) -> Iterator[bytes]:
    """The lines, joined to pieces of at most so many bytes."""
    piece: list[bytes] = []
    size = 0
    for line in lines:
        if piece and size + len(line) > most:
            yield b"".join(piece)
            piece, size = [], 0
        piece.append(line)
        size += len(line)
    if piece:
        yield b"".join(piece)
