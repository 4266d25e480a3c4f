"""The child's end of its socket: what it sends, and what it takes in between.

Nothing here runs on its own: a plain handler has one thread. What has arrived is taken in when somebody
looks: `ctx.cancelled`, whoever waits for an answer, or the event loop of an async handler.
"""

import os
import select
from _thread import allocate_lock
from collections.abc import Callable, Sequence
from time import monotonic

from tenure.core import errors
from tenure.core.errors import TenureError
from tenure.core.job import Enqueued, NewJob
from tenure.execution.protocol import (
    TO_CHILD,
    Begin,
    Cancel,
    Frames,
    FromChild,
    Garbage,
    Refused,
    SpawnAsked,
    Spawned,
    frame,
    read,
)

Answer = Spawned | Refused

_AT_ONCE = 65_536


class Channel:
    """Frames to and from the worker; safe to use from several threads of the handler."""

    def __init__(self, descriptor: int) -> None:
        self.is_cancelled = False
        self._descriptor = descriptor
        self._frames = Frames()
        self._sending = allocate_lock()
        self._reading = allocate_lock()
        self._to_tell: list[Callable[[], object]] = []
        self._waiting: dict[int, Callable[[Answer], None]] = {}
        self._begin: Begin | None = None
        self._asked = 0

    def fileno(self) -> int:
        """The descriptor that becomes readable when something arrives."""
        return self._descriptor

    def send(self, message: FromChild) -> None:
        """Send a message; waits while the worker is behind."""
        try:
            data = frame(message)
        except Garbage as garbage:
            raise TenureError(f"the worker takes no {garbage}") from None
        with self._sending:
            while data:
                data = data[os.write(self._descriptor, data) :]

    def begin(self) -> Begin:
        """The first message, waited for."""
        while self._begin is None:
            self._take_in()
        return self._begin

    def cancel(self) -> None:
        """Take note that the attempt is to stop; may be called by a signal handler."""
        if not self.is_cancelled:
            self.is_cancelled = True
            for tell in tuple(self._to_tell):
                tell()

    def when_cancelled(self, tell: Callable[[], object]) -> Callable[[], None]:
        """Call this once the attempt is to stop, at once where it already is; answers how to forget it."""
        self._to_tell.append(tell)
        if self.is_cancelled:
            tell()
        return lambda: self._to_tell.remove(tell)

    def look(self) -> None:
        """Take in what has arrived, without waiting."""
        if self._reading.acquire(blocking=False):  # otherwise somebody else is about to do it
            try:
                if self._is_readable(0):
                    self._take_in()
            finally:
                self._reading.release()

    def wait_for_cancel(self, seconds: float | None) -> bool:
        """Wait until the attempt is to stop, at most so long; whether it is."""
        end = None if seconds is None else monotonic() + seconds
        while not self.is_cancelled:
            left = None if end is None else end - monotonic()
            if left is not None and left <= 0:
                break
            with self._reading:
                if self._is_readable(left):
                    self._take_in()
        return self.is_cancelled

    def ask(self, jobs: Sequence[NewJob], deliver: Callable[[Answer], None]) -> None:
        """Ask for child jobs; the answer is delivered by whoever takes it in."""
        with self._sending:
            self._asked += 1
            number = self._asked
        self._waiting[number] = deliver
        try:
            self.send(SpawnAsked(number, list(jobs)))
        except BaseException:
            del self._waiting[number]
            raise

    def exchange(self, jobs: Sequence[NewJob]) -> list[Enqueued]:
        """Ask for child jobs and wait for the answer, whatever else arrives before it."""
        answers: list[Answer] = []
        self.ask(jobs, answers.append)
        with self._reading:
            while not answers:
                self._take_in()
        return outcome(answers[0])

    def _is_readable(self, seconds: float | None) -> bool:
        ready, _, _ = select.select([self._descriptor], [], [], seconds)
        return bool(ready)

    def _take_in(self) -> None:
        """Take in what has arrived, once something has."""
        data = os.read(self._descriptor, _AT_ONCE)
        if not data:
            raise TenureError("the worker of this attempt is gone")
        for body in self._frames.feed(data):
            match read(TO_CHILD, body):
                case Begin() as begin:
                    self._begin = begin
                case Cancel():
                    self.cancel()
                case answer:
                    deliver = self._waiting.pop(answer.number, None)
                    if deliver is not None:
                        deliver(answer)


def outcome(answer: Answer) -> list[Enqueued]:
    """The jobs that were enqueued; raises the error that the worker met instead."""
    if isinstance(answer, Spawned):
        return answer.jobs
    kind = getattr(errors, answer.kind, None)
    if isinstance(kind, type) and issubclass(kind, TenureError):
        try:
            raise kind(*answer.arguments)
        except TypeError:
            pass
    raise TenureError(f"{answer.kind}: {', '.join(answer.arguments)}")
