"""What is to be sent to somebody far away, in batches, by a thread of its own.

Nobody who puts something in waits for it. Between him and the thread is a queue with an end: what finds it
full is counted and dropped.
"""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from msgspec import Struct

T = TypeVar("T")


class Room(Struct, frozen=True):
    """How many may wait, how many are sent together, and how many seconds fewer than these may wait."""

    most: int = 20_000
    together: int = 2_000
    seconds: float = 5.0


class Batches(Generic[T]):
    """Hands on what was put in, so many at a time."""

    def __init__(self, send: Callable[[Sequence[T]], None], room: Room) -> None:
        """`send` is called in a thread of ours, and may take its time."""
        self._send = send
        self._room = room
        self._waiting: deque[T] = deque()
        self.dropped = 0
        """How many have found no room so far."""
        self._woken = threading.Event()
        self._is_closing = False
        self._thread = threading.Thread(target=self._run, name="batches", daemon=True)
        self._thread.start()

    def put(self, one: T) -> None:
        """Have it sent, soon; called in one thread."""
        waiting = self._waiting
        if len(waiting) >= self._room.most:
            self.dropped += 1
            return
        waiting.append(one)
        if len(waiting) >= self._room.together and not self._woken.is_set():
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
        while count := min(len(self._waiting), self._room.together):
            self._send([self._waiting.popleft() for _ in range(count)])
