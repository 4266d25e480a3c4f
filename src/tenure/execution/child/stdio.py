"""Routes stdout and stderr to the attempt that wrote them, in a process that several attempts share.

A context variable says which attempt runs. Output of no attempt, or written past Python's streams, goes where
the process itself writes: to the worker's stderr.
"""

import io
import sys
from contextvars import ContextVar
from typing import Any, TextIO

from tenure.execution.handler.mux import MuxStream

current_stream: ContextVar[MuxStream | None] = ContextVar("current_stream", default=None)
"""The attempt that runs in this context: its tasks, and what it gives to `asyncio.to_thread`, inherit it."""


def route_by_attempt() -> None:
    """Route all that is printed or logged from now on to the attempt that did it."""
    before = {"stdout": sys.stdout, "stderr": sys.stderr}
    routed = {level: _RoutedStream(level, stream) for level, stream in before.items()}
    sys.stdout, sys.stderr = routed["stdout"], routed["stderr"]
    logging = sys.modules.get("logging")
    for reference in getattr(logging, "_handlerList", ()):
        handler = reference()
        for level, stream in before.items():
            if getattr(handler, "stream", None) is stream:
                handler.setStream(routed[level])


class _RoutedStream(io.TextIOBase):
    """A text stream whose text goes to the attempt that writes it."""

    def __init__(self, level: str, otherwise: TextIO) -> None:
        super().__init__()
        self._level = level
        self._otherwise = otherwise
        self.buffer = _RoutedBytes(self)

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """The encoding of bytes written to `buffer`."""
        return "utf-8"

    def writable(self) -> bool:
        """It is."""
        return True

    def fileno(self) -> int:
        """The descriptor of the process itself."""
        return self._otherwise.fileno()

    def write(self, text: str) -> int:
        """Pass it on."""
        stream = current_stream.get()
        if stream is None:
            self._otherwise.write(text)
        else:
            stream.print(self._level, text)
        return len(text)

    def flush(self) -> None:
        """Flush what no attempt wrote; an attempt's lines are sent when complete, the rest at its end."""
        if current_stream.get() is None:
            self._otherwise.flush()


class _RoutedBytes(io.RawIOBase):
    """The same for code that writes bytes."""

    def __init__(self, text: _RoutedStream) -> None:
        super().__init__()
        self._text = text

    def writable(self) -> bool:
        """It is."""
        return True

    def write(self, data: Any) -> int:
        """Pass it on."""
        self._text.write(bytes(data).decode(errors="backslashreplace"))
        return len(data)
