"""What an attempt receives from its worker: that it is to stop, and replies to its requests."""

from collections.abc import Callable, Sequence
from itertools import count
from typing import TYPE_CHECKING

from tenure.core import errors
from tenure.core.errors import TenureError
from tenure.core.model.job import Enqueued, NewJob
from tenure.execution.protocol.messages import Cancel, ErrorReply, SpawnReply, SpawnRequest

Reply = SpawnReply | ErrorReply

_numbers = count(1)  # each `next` is atomic, whichever threads ask


class Replies:
    """The receiving half of one attempt; the code that reads the socket passes on what is for it."""

    __slots__ = ("_on_cancel", "_waiting", "is_cancelled")

    def __init__(self) -> None:
        self.is_cancelled = False
        self._on_cancel: list[Callable[[], object]] = []
        self._waiting: dict[int, Callable[[Reply], None]] = {}

    if TYPE_CHECKING:  # subclasses send; a stub would be one more thing in each child

        def send(self, message: SpawnRequest) -> None:
            """Send a message to the worker."""

    def receive(self, message: Cancel | Reply) -> None:
        """Take in what is for this attempt."""
        if isinstance(message, Cancel):
            self.cancel()
        else:
            on_reply = self._waiting.pop(message.number, None)
            if on_reply is not None:
                on_reply(message)

    def cancel(self) -> None:
        """Take note that the attempt is to stop; may be called by a signal handler."""
        if not self.is_cancelled:
            self.is_cancelled = True
            for callback in tuple(self._on_cancel):
                callback()

    def when_cancelled(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Call this when the attempt is to stop, at once if it already is; returns what cancels the call."""
        self._on_cancel.append(callback)
        if self.is_cancelled:
            callback()
        return lambda: self._on_cancel.remove(callback)

    def ask(self, jobs: Sequence[NewJob], on_reply: Callable[[Reply], None]) -> None:
        """Request child jobs; `on_reply` is called with the reply, in the thread that reads it."""
        number = next(_numbers)
        self._waiting[number] = on_reply
        try:
            self.send(SpawnRequest(number, list(jobs)))
        except BaseException:
            del self._waiting[number]
            raise


def outcome(reply: Reply) -> list[Enqueued]:
    """The jobs that were enqueued; raises the error that the worker sent instead."""
    if isinstance(reply, SpawnReply):
        return reply.jobs
    kind = getattr(errors, reply.kind, None)
    if isinstance(kind, type) and issubclass(kind, TenureError):
        try:
            raise kind(*reply.arguments)
        except TypeError:
            pass
    raise TenureError(f"{reply.kind}: {', '.join(map(str, reply.arguments))}")
