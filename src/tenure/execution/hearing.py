"""What an attempt hears from its worker: that it is to stop, and the answers to what it has asked."""

from collections.abc import Callable, Sequence
from itertools import count
from typing import TYPE_CHECKING

from tenure.core import errors
from tenure.core.errors import TenureError
from tenure.core.job import Enqueued, NewJob
from tenure.execution.protocol import Cancel, Refused, SpawnAsked, Spawned

Answer = Spawned | Refused

_questions = count(1)  # one step of it is never shared, whichever threads ask


class Hearing:
    """One attempt's ear; whoever reads the socket passes on what is for it."""

    __slots__ = ("_to_tell", "_waiting", "is_cancelled")

    def __init__(self) -> None:
        self.is_cancelled = False
        self._to_tell: list[Callable[[], object]] = []
        self._waiting: dict[int, Callable[[Answer], None]] = {}

    if TYPE_CHECKING:  # whoever has the socket sends; no code of ours stands in a child only to be replaced

        def send(self, message: SpawnAsked) -> None:
            """Send a message to the worker."""

    def hear(self, message: Cancel | Answer) -> None:
        """Take in what is for this attempt."""
        if isinstance(message, Cancel):
            self.cancel()
        else:
            deliver = self._waiting.pop(message.number, None)
            if deliver is not None:
                deliver(message)

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

    def ask(self, jobs: Sequence[NewJob], deliver: Callable[[Answer], None]) -> None:
        """Ask for child jobs; the answer is delivered by whoever takes it in."""
        number = next(_questions)
        self._waiting[number] = deliver
        try:
            self.send(SpawnAsked(number, list(jobs)))
        except BaseException:
            del self._waiting[number]
            raise


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
