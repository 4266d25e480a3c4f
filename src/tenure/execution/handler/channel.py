"""The child's end of its socket.

Nothing here runs on its own: a plain handler has one thread. What has arrived is read when some code looks:
`ctx.cancelled`, a call that waits for a reply, or the event loop of an async handler.
"""

import os
import select
from _thread import allocate_lock
from time import monotonic

from tenure.core.errors import TenureError
from tenure.execution.handler.frame_writer import FrameWriter
from tenure.execution.handler.replies import MakeRequest, Replies, Reply
from tenure.execution.protocol.frames import Frames, Garbage, frame, read
from tenure.execution.protocol.messages import TO_CHILD, Begin, FromChild

_AT_ONCE = 65_536


class Channel(Replies):
    """Frames to and from the worker; safe to use from several threads of the handler."""

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._frames = Frames()
        self._writer = FrameWriter(descriptor)
        self._reading = allocate_lock()
        self._begin: Begin | None = None

    def fileno(self) -> int:
        """The descriptor that becomes readable when something arrives."""
        return self._descriptor

    def send(self, message: FromChild) -> None:
        """Send a message; blocks while the worker is behind."""
        try:
            data = frame(message)
        except Garbage as garbage:
            raise TenureError(f"the worker does not take {garbage}") from None
        self._writer.write(data)

    def begin(self) -> Begin:
        """Wait for the first message."""
        while self._begin is None:
            self._take_in()
        return self._begin

    def look(self) -> None:
        """Take in what has arrived, without waiting."""
        if self._reading.acquire(blocking=False):  # otherwise another thread is about to do it
            try:
                if self._is_readable(0):
                    self._take_in()
            finally:
                self._reading.release()

    def wait_for_cancel(self, seconds: float | None) -> bool:
        """Wait until the attempt is to stop, for at most so many seconds; whether it is."""
        end = None if seconds is None else monotonic() + seconds
        while not self.is_cancelled:
            left = None if end is None else end - monotonic()
            if left is not None and left <= 0:
                break
            with self._reading:
                if self._is_readable(left):
                    self._take_in()
        return self.is_cancelled

    def exchange(self, request: MakeRequest) -> Reply:
        """Send a request and wait for the reply, whatever else arrives before it."""
        replies: list[Reply] = []
        self.ask(request, replies.append)
        with self._reading:
            while not replies:
                self._take_in()
        return replies[0]

    def _is_readable(self, seconds: float | None) -> bool:
        ready, _, _ = select.select([self._descriptor], [], [], seconds)
        return bool(ready)

    def _take_in(self) -> None:
        """Wait for something to arrive, and take it in."""
        data = os.read(self._descriptor, _AT_ONCE)
        if not data:
            raise TenureError("the worker of this attempt is gone")
        for body in self._frames.feed(data):
            message = read(TO_CHILD, body)
            if isinstance(message, Begin):
                self._begin = message
            else:
                self.receive(message)
