"""What an attempt receives from its worker: that it is to stop, and replies to its requests."""

from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING, Any

from tenure.core import errors
from tenure.core.errors import TenureError
from tenure.core.model.job import Enqueued
from tenure.execution.protocol.messages import (
    Cancel,
    DurableAnswer,
    DurableQuestion,
    ErrorReply,
    SpawnReply,
    SpawnRequest,
)

if TYPE_CHECKING:
    import asyncio

Request = SpawnRequest | DurableQuestion
Reply = SpawnReply | DurableAnswer | ErrorReply

MakeRequest = Callable[[int], Request]
"""Makes a request with this number."""

_numbers = count(1)  # each `next` is atomic, whichever threads ask


class Replies:
    """The receiving half of one attempt; the code that reads the socket passes on what is for it."""

    __slots__ = ("_on_cancel", "_waiting", "is_cancelled", "own_thread", "task")

    passes_time = True
    """Whether waiting takes time here, as it does outside of tests."""
    no_transactions = ""
    """Why handlers have no transactions of their own here, and the way out; empty where they have."""

    def __init__(self) -> None:
        self.is_cancelled = False
        self._on_cancel: list[Callable[[], object]] = []
        self._waiting: dict[int, Callable[[Reply], None]] = {}
        self.task: asyncio.Task[Any] | None = None
        """The task of an async handler itself, beside those that it starts."""
        self.own_thread: int | None = None
        """The thread of a plain handler, where that is not the one that made its context."""

    if TYPE_CHECKING:  # subclasses send; a stub would be one more thing in each child

        def send(self, message: Request) -> None:
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

    def ask(self, request: MakeRequest, on_reply: Callable[[Reply], None]) -> None:
        """Send a request; `on_reply` is called with the reply, in the thread that reads it."""
        number = next(_numbers)
        self._waiting[number] = on_reply
        try:
            self.send(request(number))
        except BaseException:
            del self._waiting[number]
            raise


def outcome(reply: Reply) -> list[Enqueued]:
    """The jobs that were enqueued; raises the error that the worker sent instead."""
    if isinstance(reply, SpawnReply):
        return reply.jobs
    if isinstance(reply, DurableAnswer):
        raise TenureError("the worker has answered another question")
    raise error_of(reply)


def error_of(reply: ErrorReply) -> TenureError:
    """The error that the worker sent."""
    kind = getattr(errors, reply.kind, None)
    if isinstance(kind, type) and issubclass(kind, TenureError):
        try:
            return kind(*reply.arguments)
        except TypeError:
            pass
    return TenureError(f"{reply.kind}: {', '.join(map(str, reply.arguments))}")
