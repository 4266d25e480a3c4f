"""The runner's end of its socket, and each attempt's share of it.

A `Strand` is to one attempt in a runner what a `Channel` is to a child: a `Context` works with either. Who
reads the socket differs: in the lane `warm` whoever looks, as in a child; in `async` the thread of the event
loop; in `thread` the main thread alone, which does nothing else.
"""

import os
import select
from _thread import allocate_lock
from collections.abc import Callable, Sequence
from time import monotonic

from tenure.core.errors import TenureError
from tenure.core.job import Enqueued, NewJob
from tenure.execution.hearing import Answer, Hearing, outcome
from tenure.execution.protocol import (
    TO_RUNNER,
    Begin,
    Frames,
    FromRunner,
    Garbage,
    Printed,
    batch,
    item,
    read,
)

LONGEST_PIECE = 8_192
"""The most characters of output that are kept until a line is complete."""

LARGEST_PRINT = 65_536
"""The most characters of output that are sent together."""

_AT_ONCE = 65_536


class Hub:
    """Frames of all attempts in a runner to and from its worker; safe to use from several threads."""

    def __init__(self, descriptor: int, begin: Callable[[int, Begin], None]) -> None:
        self._descriptor = descriptor
        self._begin = begin
        self._frames = Frames()
        self._sending = allocate_lock()
        self._reading = allocate_lock()
        self.printing = allocate_lock()
        self.strands: dict[int, Strand] = {}

    def fileno(self) -> int:
        """The descriptor that becomes readable when something arrives."""
        return self._descriptor

    def open(self, number: int) -> "Strand":
        """The share of one more attempt; to be removed from `strands` when that has ended."""
        strand = self.strands[number] = Strand(self, number)
        return strand

    def put(self, number: int, message: FromRunner) -> None:
        """Send a message of one attempt; waits while the worker is behind."""
        data = batch([packed(number, message)])
        with self._sending:
            while data:
                data = data[os.write(self._descriptor, data) :]

    def is_read_here(self) -> bool:
        """Whether this thread may read: who may not is told by the one that does."""
        return True

    def look(self) -> None:
        """Take in what has arrived, without waiting."""
        if self._reading.acquire(blocking=False):  # otherwise somebody else is about to do it
            try:
                if self._is_readable(0):
                    self._take_in()
            finally:
                self._reading.release()

    def take_in(self, is_enough: Callable[[], bool], seconds: float | None = None) -> None:
        """Take in what arrives until it is enough, at most so long."""
        end = None if seconds is None else monotonic() + seconds
        while not is_enough():
            left = None if end is None else end - monotonic()
            if left is not None and left <= 0:
                break
            with self._reading:
                if is_enough():  # another thread has taken it in
                    break
                if self._awaits(left):
                    self._take_in()

    def _awaits(self, seconds: float | None) -> bool:
        """Wait until there is something to read, or until reading will wait for it."""
        return seconds is None or self._is_readable(seconds)

    def _is_readable(self, seconds: float | None) -> bool:
        ready, _, _ = select.select([self._descriptor], [], [], seconds)
        return bool(ready)

    def _receive(self) -> bytes | None:
        return os.read(self._descriptor, _AT_ONCE)

    def _take_in(self) -> None:
        data = self._receive()
        if data is None:
            return
        if not data:  # the worker has no more use for this runner, or is gone
            os._exit(0)
        for body in self._frames.feed(data):
            for number, message in read(TO_RUNNER, body):
                if isinstance(message, Begin):
                    self._begin(number, message)
                elif number in self.strands:  # what concerns one that has ended is past
                    self.strands[number].hear(message)


class Strand(Hearing):
    """One attempt's share of a hub, with the interface of a `Channel`."""

    __slots__ = ("_hub", "_number", "_pieces")

    def __init__(self, hub: Hub, number: int) -> None:
        super().__init__()
        self._hub = hub
        self._number = number
        self._pieces: dict[str, str] | None = None

    def send(self, message: FromRunner) -> None:
        """Send a message."""
        self._hub.put(self._number, message)

    def look(self) -> None:
        """Take in what has arrived, without waiting."""
        if self._hub.is_read_here():
            self._hub.look()

    def wait_for_cancel(self, seconds: float | None) -> bool:
        """Wait until the attempt is to stop, at most so long; whether it is."""
        if self._hub.is_read_here():
            self._hub.take_in(lambda: self.is_cancelled, seconds)
        else:
            self._wait(self.when_cancelled, seconds)
        return self.is_cancelled

    def exchange(self, jobs: Sequence[NewJob]) -> list[Enqueued]:
        """Ask for child jobs and wait for the answer, whatever else arrives before it."""
        answers: list[Answer] = []
        if self._hub.is_read_here():
            self.ask(jobs, answers.append)
            self._hub.take_in(lambda: bool(answers))
        else:
            told = allocate_lock()
            told.acquire()

            def deliver(answer: Answer) -> None:
                answers.append(answer)
                told.release()

            self.ask(jobs, deliver)
            told.acquire()
        return outcome(answers[0])

    def print(self, level: str, text: str) -> None:
        """Pass on output, a whole line or more at a time."""
        if self._pieces is None:
            self._pieces = {}
        if not text.isascii():  # no message takes lone surrogates, such as names of files may hold
            text = text.encode(errors="backslashreplace").decode()
        with self._hub.printing:  # an attempt may have several threads
            text = self._pieces.pop(level, "") + text
            end = text.rfind("\n") + 1 if len(text) < LONGEST_PIECE else len(text)
            for start in range(0, end, LARGEST_PRINT):
                self.send(Printed(level, text[start : min(start + LARGEST_PRINT, end)]))
            if end < len(text):
                self._pieces[level] = text[end:]

    def flush(self) -> None:
        """Pass on what stands after the last newlines."""
        for level, text in (self._pieces or {}).items():
            self.send(Printed(level, text))
        self._pieces = None

    def _wait(
        self, register: Callable[[Callable[[], object]], Callable[[], None]], seconds: float | None
    ) -> None:
        from threading import Event

        told = Event()
        forget = register(told.set)
        told.wait(seconds)
        forget()


def packed(number: int, message: FromRunner) -> bytes:
    """A message as it stands in a batch; raises `TenureError` when it is too large."""
    try:
        return item(number, message)
    except Garbage as garbage:
        raise TenureError(f"the worker takes no {garbage}") from None
