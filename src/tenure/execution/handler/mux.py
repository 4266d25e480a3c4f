"""The runner's end of its socket, which many attempts share: a stream for each.

A `MuxStream` is to one attempt in a runner what a `Channel` is to a child: a `Context` works with either.
Lanes differ in which thread reads the socket: in `warm` any that looks, as in a child; in `async` the thread
of the event loop; in `thread` the main thread alone, which does nothing else.
"""

import os
import select
from _thread import RLock, allocate_lock
from collections.abc import Callable
from time import monotonic

from tenure.core.errors import TenureError
from tenure.execution.handler.frame_writer import FrameWriter
from tenure.execution.handler.replies import MakeRequest, Replies, Reply
from tenure.execution.protocol.frames import Frames, Garbage, batch, item, read
from tenure.execution.protocol.messages import TO_RUNNER, Begin, FromRunner, OutputMessage

LONGEST_PIECE = 8_192
"""The most characters of output that are kept until a line is complete."""

LARGEST_PRINT = 65_536
"""The most characters of output that are sent together."""

_AT_ONCE = 65_536


class Mux:
    """Frames of all attempts in a runner to and from its worker; safe to use from several threads."""

    def __init__(self, descriptor: int, on_begin: Callable[[int, Begin], None]) -> None:
        self._descriptor = descriptor
        self._on_begin = on_begin
        self._frames = Frames()
        self._writer = FrameWriter(descriptor)
        self._reading = allocate_lock()
        self.printing = RLock()  # a finalizer may print in the middle of a print
        self.streams: dict[int, MuxStream] = {}
        self.on_retired: Callable[[], None] = _exit
        """Called when the worker needs this runner no longer, and no attempt runs in it; must end it."""

    def fileno(self) -> int:
        """The descriptor that becomes readable when something arrives."""
        return self._descriptor

    def open(self, number: int) -> "MuxStream":
        """The stream of one more attempt; to be removed from `streams` when that has ended."""
        stream = self.streams[number] = MuxStream(self, number)
        return stream

    def put(self, number: int, message: FromRunner) -> None:
        """Send a message of one attempt; blocks while the worker is behind."""
        self._writer.write(batch([packed(number, message)]))

    def is_read_here(self) -> bool:
        """Whether this thread may read; otherwise the thread that reads passes messages on."""
        return True

    def look(self) -> None:
        """Take in what has arrived, without waiting."""
        if self._reading.acquire(blocking=False):  # otherwise another thread is about to do it
            try:
                if self._is_readable(0):
                    self._take_in()
            finally:
                self._reading.release()

    def take_in(self, is_enough: Callable[[], bool], seconds: float | None = None) -> None:
        """Take in what arrives until `is_enough`, for at most so many seconds."""
        end = None if seconds is None else monotonic() + seconds
        while not is_enough():
            left = None if end is None else end - monotonic()
            if left is not None and left <= 0:
                break
            with self._reading:
                if is_enough():  # another thread has taken it in
                    break
                if self._awaits(left):
                    self._take_in()

    def _awaits(self, seconds: float | None) -> bool:
        """Wait until there is something to read, or until reading will wait for it."""
        return seconds is None or self._is_readable(seconds)

    def _is_readable(self, seconds: float | None) -> bool:
        ready, _, _ = select.select([self._descriptor], [], [], seconds)
        return bool(ready)

    def _receive(self) -> bytes | None:
        return os.read(self._descriptor, _AT_ONCE)

    def _take_in(self) -> None:
        data = self._receive()
        if data is None:
            return
        if not data:  # the worker no longer needs this runner, or is gone
            if self.streams:
                os._exit(0)
            self.on_retired()
            return
        for body in self._frames.feed(data):
            for number, message in read(TO_RUNNER, body):
                if isinstance(message, Begin):
                    self._on_begin(number, message)
                elif number in self.streams:  # others have ended
                    self.streams[number].receive(message)


def _exit() -> None:
    os._exit(0)


class MuxStream(Replies):
    """One attempt's stream of a mux, with the interface of a `Channel`."""

    __slots__ = ("_mux", "_number", "_pieces")

    def __init__(self, mux: Mux, number: int) -> None:
        super().__init__()
        self._mux = mux
        self._number = number
        self._pieces: dict[str, str] | None = None

    def send(self, message: FromRunner) -> None:
        """Send a message."""
        self._mux.put(self._number, message)

    def look(self) -> None:
        """Take in what has arrived, without waiting."""
        if self._mux.is_read_here():
            self._mux.look()

    def wait_for_cancel(self, seconds: float | None) -> bool:
        """Wait until the attempt is to stop, for at most so many seconds; whether it is."""
        if self._mux.is_read_here():
            self._mux.take_in(lambda: self.is_cancelled, seconds)
        else:
            self._wait(self.when_cancelled, seconds)
        return self.is_cancelled

    def exchange(self, request: MakeRequest) -> Reply:
        """Send a request and wait for the reply, whatever else arrives before it."""
        replies: list[Reply] = []
        if self._mux.is_read_here():
            self.ask(request, replies.append)
            self._mux.take_in(lambda: bool(replies))
        else:
            arrived = allocate_lock()
            arrived.acquire()

            def on_reply(reply: Reply) -> None:
                replies.append(reply)
                arrived.release()

            self.ask(request, on_reply)
            arrived.acquire()
        return replies[0]

    def print(self, level: str, text: str) -> None:
        """Pass on output, a whole line or more at a time."""
        if self._pieces is None:
            self._pieces = {}
        if not text.isascii():  # no message may hold lone surrogates, as names of files do
            text = text.encode(errors="backslashreplace").decode()
        with self._mux.printing:  # an attempt may have several threads
            text = self._pieces.pop(level, "") + text
            end = text.rfind("\n") + 1 if len(text) < LONGEST_PIECE else len(text)
            for start in range(0, end, LARGEST_PRINT):
                self.send(OutputMessage(level, text[start : min(start + LARGEST_PRINT, end)]))
            if end < len(text):
                # What a finalizer has printed since follows.
                self._pieces[level] = text[end:] + self._pieces.get(level, "")

    def flush(self) -> None:
        """Pass on what follows the last newline."""
        for level, text in (self._pieces or {}).items():
            self.send(OutputMessage(level, text))
        self._pieces = None

    def _wait(
        self, register: Callable[[Callable[[], object]], Callable[[], None]], seconds: float | None
    ) -> None:
        from threading import Event

        cancelled = Event()
        forget = register(cancelled.set)
        cancelled.wait(seconds)
        forget()


def packed(number: int, message: FromRunner) -> bytes:
    """A message as it stands in a batch; raises `TenureError` when it is too large."""
    try:
        return item(number, message)
    except Garbage as garbage:
        raise TenureError(f"the worker does not take {garbage}") from None
