"""What is to be sent to somebody far away, in batches, by a thread of its own.

Nobody who puts something in waits for it. Between him and the thread is a queue with an end, by number and by
bytes: what finds it full is counted and dropped.
"""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from msgspec import Struct

T = TypeVar("T")


class Room(Struct, frozen=True):
    """How many may wait, how many are sent together, and how many seconds fewer than these may wait.

    `most_bytes` is what all that is not yet sent may hold, `bytes_together` what is sent at once: a batch is
    full when it holds as much, by its last one perhaps a little more.
    """

    most: int = 20_000
    together: int = 2_000
    seconds: float = 5.0
    most_bytes: int = 32 * 2**20
    bytes_together: int = 2 * 2**20


class Batches(Generic[T]):
    """Hands on what was put in, so many at a time."""

    def __init__(self, send: Callable[[Sequence[T]], None], room: Room) -> None:
        """`send` is called in a thread of ours, and may take its time."""
        self._send = send
        self._room = room
        self._waiting: deque[tuple[T, int]] = deque()
        self.dropped = 0
        """How many have found no room so far."""
        # Each of these is written by one thread alone; what they differ by is held.
        self._bytes_come = 0
        self._bytes_gone = 0
        self._woken = threading.Event()
        self._is_closing = False
        self._thread = threading.Thread(target=self._run, name="batches", daemon=True)
        self._thread.start()

    def put(self, one: T, size: int = 0) -> None:
        """Have it sent, soon; called in one thread. `size` is what it holds beyond what every one does."""
        waiting, room = self._waiting, self._room
        held = self._bytes_come - self._bytes_gone + size
        if len(waiting) >= room.most or held > room.most_bytes:
            self.dropped += 1
            return
        self._bytes_come += size
        waiting.append((one, size))
        is_enough = len(waiting) >= room.together or held >= room.bytes_together
        if is_enough and not self._woken.is_set():
            self._woken.set()

    def close(self, patience: float) -> None:
        """Send what is left; what is not sent within so many seconds is lost."""
        self._is_closing = True
        self._woken.set()
        self._thread.join(patience)

    def _run(self) -> None:
        while not self._is_closing:
            self._woken.wait(self._room.seconds)
            self._woken.clear()
            self._hand_on()
        self._hand_on()

    def _hand_on(self) -> None:
        while self._waiting:
            batch: list[T] = []
            size = 0
            for _ in range(min(len(self._waiting), self._room.together)):
                one, its_size = self._waiting.popleft()
                batch.append(one)
                size += its_size
                if size >= self._room.bytes_together:
                    break
            self._send(batch)
            self._bytes_gone += size
