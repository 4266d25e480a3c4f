"""Captures what others write to our standard error: handlers' processes, and libraries in C.

They might write lines that look like ours, or more than the reader takes; then they would wait, and so would
the other jobs in their process. So they get a pipe instead, which is always read, and what they write becomes
entries of the log.
"""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LONGEST_LINE = 8_192
"""Bytes; a longer line becomes several."""

PATIENCE = 0.5
"""Seconds to wait until all others have closed the pipe."""


@contextmanager
def captured(descriptor: int, on_line: Callable[[bytes], None]) -> Iterator[None]:
    """While the context lasts, call `on_line` with each line written there, in its own thread."""
    own = os.dup(descriptor)
    reading, writing = os.pipe()
    os.dup2(writing, descriptor)
    os.close(writing)
    thread = threading.Thread(target=_read, args=(reading, on_line), name="captured-stdio", daemon=True)
    thread.start()
    try:
        yield
    finally:
        os.dup2(own, descriptor)
        os.close(own)
        thread.join(PATIENCE)


def _read(reading: int, on_line: Callable[[bytes], None]) -> None:
    with os.fdopen(reading, "rb") as stream:
        while line := stream.readline(LONGEST_LINE):
            on_line(line.rstrip(b"\r\n"))
