"""The worker's end of a child's socket, as bytes.

Not one of asyncio's streams: those forget what has arrived, a report perhaps, as soon as something cannot be
written because the child has ended.
"""

import asyncio
import socket

_AT_ONCE = 65_536


class Wire:
    """Bytes to and from one child; what is sent waits here while the child does not take it."""

    def __init__(self, connection: socket.socket) -> None:
        self._loop = asyncio.get_running_loop()
        self._connection = connection
        self._connection.setblocking(False)
        self._unsent = bytearray()
        self._has_sent = asyncio.Event()
        # The loop is asked to forget only what it was told: to ask in vain costs it an exception inside.
        self._is_read = False
        self._is_written = False

    async def receive(self) -> bytes:
        """Some bytes; none when the child has closed its end.

        Raises `ConnectionError` when it did so without having read all that was sent.
        """
        self._is_read = True
        data = await self._loop.sock_recv(self._connection, _AT_ONCE)
        self._is_read = False
        return data

    def send(self, data: bytes) -> None:
        """Send something as soon as it can be; what a child that has ended was to be told is dropped."""
        self._has_sent.clear()
        self._unsent += data
        self._flush()

    async def sent(self) -> None:
        """Wait until everything is sent, or nobody is there to read it."""
        await self._has_sent.wait()

    def close(self) -> None:
        """Close it. Nobody may wait for it any more."""
        if self._is_read:
            self._loop.remove_reader(self._connection)
        self._stop_writing()
        self._connection.close()

    def _flush(self) -> None:
        try:
            while self._unsent:
                del self._unsent[: self._connection.send(self._unsent)]
        except BlockingIOError:
            self._is_written = True
            self._loop.add_writer(self._connection, self._flush)
            return
        except OSError:
            self._unsent.clear()
        self._stop_writing()
        self._has_sent.set()

    def _stop_writing(self) -> None:
        if self._is_written:
            self._is_written = False
            self._loop.remove_writer(self._connection)
