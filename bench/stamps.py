"""Moments on record: what a job of a bench leaves behind, in any process and in any environment.

Imports nothing of the product's, since rivals run it in environments of their own. The clock is the one that
all processes of a machine share.
"""

import os
import struct
import time
from collections.abc import Callable
from pathlib import Path

_STAMP = struct.Struct("<q")
SIZE = _STAMP.size


def stamp(file: str) -> None:
    """Add this moment to a file. The whole work of a job."""
    now = time.monotonic_ns()
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(descriptor, _STAMP.pack(now))
    os.close(descriptor)


class Stamps:
    """The moments in one file, in seconds."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.touch()

    def __len__(self) -> int:
        return self.path.stat().st_size // SIZE

    def read(self) -> list[float]:
        """All moments so far, as they came."""
        data = self.path.read_bytes()
        return [moment / 1e9 for (moment,) in _STAMP.iter_unpack(data[: len(data) // SIZE * SIZE])]

    def reach(
        self, count: int, *, seconds: float, pause: float = 0.005, look: Callable[[], None] = lambda: None
    ) -> None:
        """Wait until there are so many, with a look at what else may happen; raises TimeoutError."""
        deadline = time.monotonic() + seconds
        while len(self) < count:
            look()
            if time.monotonic() > deadline:
                raise TimeoutError(f"{len(self):,} of {count:,} jobs had run after {seconds:g} s")
            time.sleep(pause)
