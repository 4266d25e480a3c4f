"""Messages from the zygote to the worker, kept while the worker does not read."""

import os
import socket

from tenure.execution.protocol.frames import frame
from tenure.execution.protocol.messages import FromZygote

MOST_UNSENT = 16 << 20
"""Bytes. Never reached: each message answers one of the worker's, and a frozen worker sends none."""


class Outbox:
    """Sends without ever waiting: a frozen worker must not keep the zygote from its deadlines."""

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
        """Send as much as fits; ends this process when the worker is gone."""
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
