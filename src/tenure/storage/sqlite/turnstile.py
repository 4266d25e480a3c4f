"""Where the writers of several processes queue: a lock on a file beside the database.

SQLite's own waiting is a sleep and a try again, without a queue, under which a busy process starves the
others; this lock makes it fair. It is an economy only: what keeps the data right is SQLite's own lock, taken
inside. So whatever goes wrong with the file once it is open costs fairness and nothing else.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tenure.core.errors import StoreUnavailable


class Turnstile:
    """One process's way into the queue."""

    def __init__(self, path: Path) -> None:
        self._path = Path(f"{path}-turn")
        try:
            self._file = _open(self._path)
        except OSError as error:
            raise StoreUnavailable(f"{self._path} cannot be opened: {error.strerror}") from error

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for the turn, and have it for as long as the block runs."""
        with suppress(OSError):
            fcntl.flock(self._file, fcntl.LOCK_EX)
            self._join_the_others()
        try:
            yield
        finally:
            with suppress(OSError):
                fcntl.flock(self._file, fcntl.LOCK_UN)

    def close(self) -> None:
        """Leave the queue."""
        os.close(self._file)

    def _join_the_others(self) -> None:
        """Whoever came after the file was deleted queues at another one; go there."""
        if not self._is_there():
            fresh = _open(self._path)
            os.close(self._file)
            self._file = fresh
            fcntl.flock(self._file, fcntl.LOCK_EX)

    def _is_there(self) -> bool:
        try:
            return os.path.samestat(self._path.stat(), os.fstat(self._file))
        except FileNotFoundError:
            return False


def _open(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
