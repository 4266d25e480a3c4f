"""Sends items in batches, in a thread of its own.

A caller that puts an item in does not wait. The queue between caller and thread is bounded, by number and by
bytes: items that find it full are counted and dropped.
"""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from msgspec import Struct

T = TypeVar("T")


class BatchLimits(Struct, frozen=True):
    """How many items may wait, how many are sent together, and how many seconds a smaller batch may wait.

    `most_bytes` bounds all items that are not sent yet, `bytes_together` one batch: a batch is full when it
    holds as much, and its last item may exceed it.
    """

    most: int = 20_000
    together: int = 2_000
    seconds: float = 5.0
    most_bytes: int = 32 * 2**20
    bytes_together: int = 2 * 2**20


class Batches(Generic[T]):
    """Sends the items that were put in, in batches."""

    def __init__(self, send: Callable[[Sequence[T]], None], limits: BatchLimits) -> None:
        """`send` runs in a thread of ours, and may take long."""
        self._send = send
        self._limits = limits
        self._waiting: deque[tuple[T, int]] = deque()
        self.dropped = 0
        """How many items found no room so far."""
        # Each of these is written by one thread only; their difference is what is held.
        self._bytes_come = 0
        self._bytes_gone = 0
        self._woken = threading.Event()
        self._is_closing = False
        self._thread = threading.Thread(target=self._run, name="batches", daemon=True)
        self._thread.start()

    def put(self, one: T, size: int = 0) -> None:
        """Send an item soon; called in one thread. `size` is its bytes, if these may be many."""
        waiting, limits = self._waiting, self._limits
        held = self._bytes_come - self._bytes_gone + size
        if len(waiting) >= limits.most or held > limits.most_bytes:
            self.dropped += 1
            return
        self._bytes_come += size
        waiting.append((one, size))
        is_enough = len(waiting) >= limits.together or held >= limits.bytes_together
        if is_enough and not self._woken.is_set():
            self._woken.set()

    def close(self, patience: float) -> None:
        """Send what is left; what is not sent within so many seconds is lost."""
        self._is_closing = True
        self._woken.set()
        self._thread.join(patience)

    def _run(self) -> None:
        while not self._is_closing:
            self._woken.wait(self._limits.seconds)
            self._woken.clear()
            self._send_all()
        self._send_all()

    def _send_all(self) -> None:
        while self._waiting:
            batch: list[T] = []
            size = 0
            for _ in range(min(len(self._waiting), self._limits.together)):
                one, its_size = self._waiting.popleft()
                batch.append(one)
                size += its_size
                if size >= self._limits.bytes_together:
                    break
            self._send(batch)
            self._bytes_gone += size
