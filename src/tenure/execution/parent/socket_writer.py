"""The writing half of a socket: bytes wait here while the peer does not read them."""

import asyncio
import socket


class SocketWriter:
    """A socket that never blocks; what a peer that has ended was to be sent is dropped.

    Not one of asyncio's streams: those forget what has arrived, a report perhaps, as soon as something cannot
    be written because the peer has ended.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._loop = asyncio.get_running_loop()
        self._connection = connection
        self._connection.setblocking(False)
        self._unsent = bytearray()
        # The loop forgets only what it was given: to remove a writer in vain costs it an exception inside.
        self._is_waiting_to_write = False
        self._on_sent: asyncio.Future[None] | None = None
        self.is_unread = False
        """Whether the peer has ended without having read all that was sent."""

    async def sent(self) -> None:
        """Wait until everything is sent, or the peer has ended."""
        if self._unsent:
            self._on_sent = self._loop.create_future()
            await self._on_sent

    def write(self, data: bytes) -> None:
        """Send these bytes as soon as possible."""
        self._unsent += data
        if not self._is_waiting_to_write:
            self._flush()

    def _flush(self) -> None:
        try:
            while self._unsent:
                del self._unsent[: self._connection.send(self._unsent)]
        except BlockingIOError:
            if not self._is_waiting_to_write:
                self._is_waiting_to_write = True
                self._loop.add_writer(self._connection, self._flush)
            return
        except OSError:
            self.is_unread = True
            self._unsent.clear()
        self._stop_writing()
        if self._on_sent is not None and not self._on_sent.done():
            self._on_sent.set_result(None)

    def _stop_writing(self) -> None:
        if self._is_waiting_to_write:
            self._is_waiting_to_write = False
            self._loop.remove_writer(self._connection)
