"""The handler's end of an attempt that runs in the test's own process: no socket, the same messages."""

from collections.abc import Callable
from threading import Event

from tenure.core.errors import TenureError
from tenure.execution.handler.channel import Channel
from tenure.execution.handler.replies import MakeRequest, Reply
from tenure.execution.protocol.frames import Garbage, frame
from tenure.execution.protocol.messages import FromChild

_NO_SOCKET = -1

NO_TRANSACTIONS = (
    "ctx.transaction needs PostgreSQL, and tenure.testing has none: it keeps jobs in a file or in memory; "
    "test the function with a connection of the test's own, and the handler by a worker on PostgreSQL"
)


class InlineChannel(Channel):
    """Passes on each message as the bytes that a socket would carry.

    `post` takes them, in any thread. `beat` asks the store, and returns when a request to stop has been
    received, if there is one.
    """

    passes_time = False
    no_transactions = NO_TRANSACTIONS

    def __init__(self, post: Callable[[bytes], object], beat: Callable[[], object]) -> None:
        super().__init__(_NO_SOCKET)
        self._post = post
        self._beat = beat

    def send(self, message: FromChild) -> None:
        """Send a message."""
        self._post(framed(message))

    def look(self) -> None:
        """Ask the store whether the attempt is to stop."""
        self._beat()

    def wait_for_cancel(self, seconds: float | None) -> bool:
        """Look once, as time stands still; without `seconds`, wait until the attempt is to stop."""
        self.look()
        if seconds is None and not self.is_cancelled:
            cancelled = Event()
            forget = self.when_cancelled(cancelled.set)
            cancelled.wait()
            forget()
        return self.is_cancelled

    def exchange(self, request: MakeRequest) -> Reply:
        """Send a request and wait for the reply."""
        replies: list[Reply] = []
        arrived = Event()

        def deliver(reply: Reply) -> None:
            replies.append(reply)
            arrived.set()

        super().ask(request, deliver)
        arrived.wait()
        return replies[0]


def framed(message: FromChild) -> bytes:
    """A message as it travels; raises `TenureError` when it is too large."""
    try:
        return frame(message)
    except Garbage as garbage:
        raise TenureError(f"the worker does not take {garbage}") from None
