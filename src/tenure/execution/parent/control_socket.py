"""The worker's end of a zygote's control socket, as a writer of messages with descriptors beside them."""

import asyncio
import os
import socket
from collections import deque

from tenure.execution.protocol.frames import frame
from tenure.execution.protocol.messages import ToZygote

_AT_ONCE = 65_536


class ControlSocket:
    """Messages wait here while the zygote does not read them; descriptors are closed once they are sent."""

    def __init__(self, connection: socket.socket) -> None:
        self._loop = asyncio.get_running_loop()
        self._connection = connection
        self._connection.setblocking(False)
        self._unsent: deque[tuple[bytes, list[int]]] = deque()
        self._is_waiting_to_write = False

    def fileno(self) -> int:
        """The descriptor that becomes readable when something arrives."""
        return self._connection.fileno()

    def receive(self) -> bytes:
        """What has arrived; raises `BlockingIOError` when nothing has."""
        return self._connection.recv(_AT_ONCE)

    def send(self, message: ToZygote, descriptors: list[int]) -> None:
        """Send a message as soon as possible."""
        self._unsent.append((frame(message), descriptors))
        if len(self._unsent) == 1:
            self._flush()

    def close(self) -> None:
        """Close it, and the descriptors that were not sent."""
        self._loop.remove_writer(self._connection.fileno())
        self._connection.close()
        while self._unsent:
            close_all(self._unsent.popleft()[1])

    def _flush(self) -> None:
        while self._unsent:
            data, descriptors = self._unsent[0]
            try:
                sent = (
                    socket.send_fds(self._connection, [data], descriptors)
                    if descriptors
                    else self._connection.send(data)
                )
            except BlockingIOError:
                self._is_waiting_to_write = True
                self._loop.add_writer(self._connection.fileno(), self._flush)
                return
            except OSError:  # the zygote is gone; the reader learns of it too
                sent = len(data)
            close_all(descriptors)
            if sent < len(data):
                self._unsent[0] = (data[sent:], [])
            else:
                self._unsent.popleft()
        if self._is_waiting_to_write:
            self._is_waiting_to_write = False
            self._loop.remove_writer(self._connection.fileno())


def close_all(descriptors: list[int]) -> None:
    """Close descriptors of ours."""
    for descriptor in descriptors:
        os.close(descriptor)
