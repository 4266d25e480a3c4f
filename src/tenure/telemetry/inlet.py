"""What others write to a stream of ours: handlers' processes beside their attempts, libraries in C.

They might write anything: lines that look like ours; or more than its reader takes, and then they would wait,
and the jobs of others in the same process with them. So they are given a pipe in its place, which is always
read, and what they write becomes entries of the log.
"""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LONGEST_LINE = 8_192
"""Bytes; what is longer becomes several lines."""

PATIENCE = 0.5
"""Seconds that we wait for others to let go of the pipe."""


@contextmanager
def taken_in(descriptor: int, heard: Callable[[bytes], None]) -> Iterator[None]:
    """While the context lasts, call `heard` with each line that is written there, in a thread of its own."""
    own = os.dup(descriptor)
    reading, writing = os.pipe()
    os.dup2(writing, descriptor)
    os.close(writing)
    thread = threading.Thread(target=_read, args=(reading, heard), name="inlet", daemon=True)
    thread.start()
    try:
        yield
    finally:
        os.dup2(own, descriptor)
        os.close(own)
        thread.join(PATIENCE)


def _read(reading: int, heard: Callable[[bytes], None]) -> None:
    with os.fdopen(reading, "rb") as stream:
        while line := stream.readline(LONGEST_LINE):
            heard(line.rstrip(b"\r\n"))
