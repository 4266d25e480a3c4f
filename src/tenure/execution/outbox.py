"""What the zygote has to tell the worker, kept as long as the worker does not listen."""

import os
import socket

from tenure.execution.protocol import FromZygote, frame

MOST_UNSENT = 16 << 20
"""Bytes. Each message answers one of the worker's, who asks for no more while it is frozen: never reached."""


class Outbox:
    """Sends without ever waiting: a worker that is frozen must not keep the zygote from its deadlines."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._unsent = bytearray()

    @property
    def is_empty(self) -> bool:
        """Whether everything was sent."""
        return not self._unsent

    def put(self, message: FromZygote) -> None:
        """Send a message, or keep it until there is room for it."""
        self._unsent += frame(message)
        self.flush()

    def flush(self) -> None:
        """Send what there is room for; ends this process when there is nobody to send it to."""
        try:
            while self._unsent:
                del self._unsent[: self._control.send(self._unsent, socket.MSG_DONTWAIT)]
        except BlockingIOError:
            if len(self._unsent) <= MOST_UNSENT:
                return
        except OSError:
            pass
        if self._unsent:
            os._exit(1)
