"""The worker's end of a runner's socket: what is to be sent in one turn of the event loop goes together."""

import asyncio
import socket
from collections.abc import Callable, Iterator

from tenure.execution.protocol import (
    FROM_RUNNER,
    Frames,
    FromRunner,
    Garbage,
    ToChild,
    batch,
    item,
    read,
)

_AT_ONCE = 65_536


class Link:
    """Messages of many attempts to and from one runner; `heard` is called when there is something to read."""

    def __init__(self, connection: socket.socket, heard: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._connection = connection
        self._connection.setblocking(False)
        self._frames = Frames()
        self._items: list[bytes] = []
        self._unsent = bytearray()
        self._is_read = True
        self._is_written = False
        self.is_closed = False
        self.is_silent = False
        """Whether nothing more will arrive, or at least nothing that could be read."""
        self.is_empty = False
        """Whether there was nothing when it was last read; what comes from who has ended is all there."""
        self.is_unread = False
        """Whether the runner has ended without having read all that was sent."""
        self._loop.add_reader(connection.fileno(), heard)

    def send(self, number: int, message: ToChild, *, at_once: bool = False) -> None:
        """Send a message of one attempt with all the others of this turn; raises `Garbage` if too large.

        `at_once`: without waiting for others, to a runner that has nothing else to do.
        """
        if not self._items and not at_once:
            self._loop.call_soon(self._flush)
        self._items.append(item(number, message))
        if at_once:
            self._flush()

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

    def _fall_silent(self) -> None:
        self.is_silent = self.is_empty = True
        self._stop_listening()

    def _stop_listening(self) -> None:
        if self._is_read:
            self._is_read = False
            self._loop.remove_reader(self._connection.fileno())

    def close(self) -> None:
        """Close it."""
        self._stop_listening()
        self._stop_writing()
        self.is_closed = True
        self._connection.close()

    def _flush(self) -> None:
        if self.is_closed or not self._items:
            return
        self._unsent += batch(self._items)
        self._items.clear()
        if not self._is_written:
            self._write()

    def _write(self) -> None:
        try:
            while self._unsent:
                del self._unsent[: self._connection.send(self._unsent)]
        except BlockingIOError:
            if not self._is_written:
                self._is_written = True
                self._loop.add_writer(self._connection.fileno(), self._write)
            return
        except OSError:  # nobody is there to read it
            self.is_unread = True
            self._unsent.clear()
        self._stop_writing()

    def _stop_writing(self) -> None:
        if self._is_written:
            self._is_written = False
            self._loop.remove_writer(self._connection.fileno())
