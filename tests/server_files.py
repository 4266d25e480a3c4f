"""The files of a new PostgreSQL server: made once in a run of the tests, and copied for every other server.

To make them takes `initdb` a second; every process of the tests starts several servers.
"""

import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

VARIABLE = "TENURE_TEST_SERVER_FILES"
"""The folder of what was made in this run; without it each server has its files made anew."""


@contextmanager
def kept() -> Iterator[None]:
    """Keep what is made here, for this process and those that it starts; unless one above it does so."""
    if VARIABLE in os.environ:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="tenure-server-files-") as place:
        os.environ[VARIABLE] = place
        yield
        del os.environ[VARIABLE]


def write(data: Path, made_with: tuple[str, ...], make: Callable[[], None]) -> None:
    """Fill the folder `data`: by `make`, or with a copy of what was made with the same words before."""
    if (place := os.environ.get(VARIABLE)) is None:
        make()
        return
    original = Path(place) / hashlib.sha256(repr(made_with).encode()).hexdigest()[:16]
    with original.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not original.exists():
            make()
            part = original.with_suffix(".part")
            shutil.copytree(data, part)
            part.rename(original)
            return
    shutil.copytree(original, data)
