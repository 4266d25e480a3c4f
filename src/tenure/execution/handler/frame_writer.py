"""Writes frames to a descriptor, each in one piece, whichever thread sends them.

Code that runs in the middle of a write, in the same thread, may send as well: a signal handler, or a
finalizer that logs. Its frame is written after the one under way. If it waited for that one, it would wait
for itself.
"""

import os
from _thread import RLock, get_ident


class FrameWriter:
    """The writing side of an attempt's socket, or of a runner's."""

    __slots__ = ("_descriptor", "_following", "_lock", "_writing")

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = RLock()
        self._writing = 0
        self._following: list[bytes] | None = None

    def write(self, data: bytes) -> None:
        """Write a frame; blocks while the worker is behind."""
        own = get_ident()
        if self._writing == own:
            self._following = [*(self._following or ()), data]
            return
        with self._lock:
            while data:
                self._writing = own
                try:
                    while data:
                        data = data[os.write(self._descriptor, data) :]
                finally:
                    self._writing = 0  # first: a frame that comes from now on is written by its sender
                if self._following is not None:
                    data, self._following = b"".join(self._following), None
