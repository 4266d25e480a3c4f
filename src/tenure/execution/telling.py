"""Output in a process that several attempts share: who prints is known by a context variable.

What is written by nobody's attempt, or past Python's streams, goes where the process itself writes: to the
worker's stderr.
"""

import io
import sys
from contextvars import ContextVar
from typing import Any, TextIO

from tenure.execution.hub import Strand

speaking: ContextVar[Strand | None] = ContextVar("speaking", default=None)
"""The attempt that runs in this context: its tasks, and what it gives to `asyncio.to_thread`, inherit it."""


def tell_apart() -> None:
    """Let whatever is printed or logged from now on reach the attempt that did it."""
    before = {"stdout": sys.stdout, "stderr": sys.stderr}
    tellers = {level: _Teller(level, stream) for level, stream in before.items()}
    sys.stdout, sys.stderr = tellers["stdout"], tellers["stderr"]
    logging = sys.modules.get("logging")
    for reference in getattr(logging, "_handlerList", ()):
        handler = reference()
        for level, stream in before.items():
            if getattr(handler, "stream", None) is stream:
                handler.setStream(tellers[level])


class _Teller(io.TextIOBase):
    """A text stream whose text goes to the attempt that writes it."""

    def __init__(self, level: str, otherwise: TextIO) -> None:
        super().__init__()
        self._level = level
        self._otherwise = otherwise
        self.buffer = _Bytes(self)

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """What bytes are taken for."""
        return "utf-8"

    def writable(self) -> bool:
        """It is."""
        return True

    def fileno(self) -> int:
        """The descriptor that is nobody's in particular."""
        return self._otherwise.fileno()

    def write(self, text: str) -> int:
        """Pass it on."""
        strand = speaking.get()
        if strand is None:
            self._otherwise.write(text)
        else:
            strand.print(self._level, text)
        return len(text)

    def flush(self) -> None:
        """Whole lines are passed on as they come, the rest when the attempt ends."""
        if speaking.get() is None:
            self._otherwise.flush()


class _Bytes(io.RawIOBase):
    """The same for whoever writes bytes."""

    def __init__(self, text: _Teller) -> None:
        super().__init__()
        self._text = text

    def writable(self) -> bool:
        """It is."""
        return True

    def write(self, data: Any) -> int:
        """Pass it on."""
        self._text.write(bytes(data).decode(errors="backslashreplace"))
        return len(data)
