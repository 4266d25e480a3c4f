"""Lines on their way out of the process, to whoever reads them, if anybody does.

A pipe that nobody empties takes 64 KiB and then keeps its writer waiting. Were that the event loop, no
heartbeat would be sent and every lease lost, for want of somebody who reads a log. So a thread of its own
writes. Between it and everybody else is a queue with an end: what finds it full is counted and dropped, and
how much that was is the first thing to be said when there is room again.

The thread writes what is first at once and then rests for a moment: what comes meanwhile goes out together.
Whoever shares the stream must not write into our lines, so that no more is written at a time than a pipe
takes in one piece, single lines that are longer apart. A file takes more: each time of writing, two threads
have to take turns.
"""

import os
import select
import stat
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")

MOST_WAITING = 10_000
"""How many may wait to be written."""

REST = 0.1
"""Seconds between two times of writing."""

LARGEST_PIECE = 65_536
"""Bytes that are written to a file at a time."""

PATIENCE = 1.0
"""Seconds that a process which ends waits for a reader."""

Form = Callable[[Sequence[T], int], Sequence[bytes]]
"""Makes lines of what has gathered, and of how much was dropped before it."""


class Outlet(Generic[T]):
    """Writes to a descriptor. Nobody who puts something in waits for it."""

    def __init__(self, descriptor: int, form: Form[T], *, most_waiting: int = MOST_WAITING) -> None:
        """`form` is called in the outlet's own thread."""
        self._descriptor = descriptor
        is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
        self._piece = LARGEST_PIECE if is_file else select.PIPE_BUF
        self._form = form
        self._most = most_waiting
        self._waiting: deque[T] = deque()
        self.dropped = 0
        """How many were dropped so far."""
        self._told = 0
        """How many of these were told of."""
        self._counting = threading.Lock()
        self._woken = threading.Event()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="outlet", daemon=True)
        self._thread.start()

    def put(self, one: T) -> None:
        """Have it written, soon; or count it, where too many wait."""
        if len(self._waiting) >= self._most:
            self._drop(1)
            return
        self._waiting.append(one)
        if not self._woken.is_set():
            self._woken.set()

    def close(self, patience: float = PATIENCE) -> None:
        """Write what is left; where nobody reads it within so many seconds, it is lost."""
        self._closing.set()
        self._woken.set()
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
        if not gathered and dropped == self._told:
            return
        try:
            for piece in _pieces(self._form(gathered, dropped - self._told), self._piece):
                self._write_out(piece)
        except Exception:  # the reader is gone, or the form has a bug: others must still have their turn
            self._drop(len(gathered))
        else:
            self._told = dropped

    def _drop(self, count: int) -> None:
        with self._counting:
            self.dropped += count

    def _write_out(self, piece: bytes) -> None:
        while piece:
            try:
                piece = piece[os.write(self._descriptor, piece) :]
            except BlockingIOError:  # somebody who shares the stream does not want to wait for it
                select.select([], [self._descriptor], [])


def _pieces(lines: Sequence[bytes], most: int) -> Iterator[bytes]:
    """The lines, as many at a time as have so many bytes together."""
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
