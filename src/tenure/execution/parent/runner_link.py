"""The worker's end of a runner's socket: what is sent in one turn of the event loop travels together."""

import socket
from collections.abc import Callable, Iterator
from contextlib import suppress

from tenure.execution.parent.socket_writer import SocketWriter
from tenure.execution.protocol.frames import Frames, Garbage, batch, item, read
from tenure.execution.protocol.messages import FROM_RUNNER, FromRunner, ToChild

_AT_ONCE = 65_536


class RunnerLink(SocketWriter):
    """Messages of many attempts to and from one runner; `on_readable` is called when some have arrived."""

    def __init__(self, connection: socket.socket, on_readable: Callable[[], None]) -> None:
        super().__init__(connection)
        self._frames = Frames()
        self._items: list[bytes] = []
        self._is_reading = True
        self.is_closed = False
        self.is_silent = False
        """Whether nothing more will arrive, or at least nothing that could be read."""
        self.is_empty = False
        """Whether the last read found nothing; once the runner has ended, nothing more can follow."""
        self._loop.add_reader(connection.fileno(), on_readable)

    def send(self, number: int, message: ToChild, *, at_once: bool = False) -> None:
        """Send a message to one attempt with all the others of this turn; raises `Garbage` if too large.

        `at_once`: without waiting for others, to a runner that has nothing else to do.
        """
        if not self._items and not at_once:
            self._loop.call_soon(self._send_batch)
        self._items.append(item(number, message))
        if at_once:
            self._send_batch()

    def receive(self) -> Iterator[tuple[int, FromRunner]]:
        """What has arrived; raises `Garbage` at what is no message. It may be the last: see `is_silent`."""
        try:
            data = self._connection.recv(_AT_ONCE)
        except BlockingIOError:
            self.is_empty = True
            return
        except OSError:
            self.is_unread = True
            data = b""
        if not data:
            self._fall_silent()
        try:
            for body in self._frames.feed(data):
                yield from read(FROM_RUNNER, body)
        except Garbage:
            self._fall_silent()
            raise

    def finish(self) -> None:
        """Send nothing more, which tells the runner to end; what it sends is still read."""
        self._send_batch()
        with suppress(OSError):  # it has ended
            self._connection.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Close it."""
        self._stop_reading()
        self._stop_writing()
        self.is_closed = True
        self._connection.close()

    def _fall_silent(self) -> None:
        self.is_silent = self.is_empty = True
        self._stop_reading()

    def _stop_reading(self) -> None:
        if self._is_reading:
            self._is_reading = False
            self._loop.remove_reader(self._connection.fileno())

    def _send_batch(self) -> None:
        if not self.is_closed and self._items:
            data = batch(self._items)
            self._items.clear()
            self.write(data)
