"""The worker's end of a child's socket, as bytes."""

import socket

from tenure.execution.parent.socket_writer import SocketWriter

_AT_ONCE = 65_536


class ChildWire(SocketWriter):
    """Bytes to and from one child."""

    def __init__(self, connection: socket.socket) -> None:
        super().__init__(connection)
        self._is_reading = False

    async def receive(self) -> bytes:
        """Some bytes; none when the child has closed its end.

        Raises `ConnectionError` when it did so without having read all that was sent.
        """
        self._is_reading = True
        data = await self._loop.sock_recv(self._connection, _AT_ONCE)
        self._is_reading = False
        return data

    def close(self) -> None:
        """Close it. No call may wait for it any more."""
        if self._is_reading:
            self._loop.remove_reader(self._connection)
        self._stop_writing()
        self._connection.close()
