"""The queue of writers of several processes: locks on a file beside the database.

To wait, SQLite sleeps and tries again, without a queue, so that a busy process starves the others; this lock
makes it fair. Processes with large writes could still keep the others waiting for one large write each, and
leases would run out meanwhile. So only one large write at a time may join the queue, and none while writers
wait that came during a large write.

All of this is for fairness only: SQLite's own lock, taken inside, keeps the data correct. So an error of the
lock file after it is open costs fairness and nothing else; and no process waits without bound for one that is
frozen in the queue.
"""

import fcntl
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic

from tenure.core.errors import StoreUnavailable

REST = 0.25
"""Seconds for which other writers go first after a large write, at most."""

LONGEST_WAIT = 5.0
"""Seconds after which a large write no longer waits for those of other processes."""

_IN_QUEUE, _LARGE = 0, 1
"""The bytes of the file whose locks say that a process waits for a turn, and that one has a large write."""


class WriteLock:
    """The lock, as one process uses it."""

    def __init__(self, path: Path) -> None:
        self._path = Path(f"{path}-turn")
        self._waits_since: float | None = None
        self._rests_until: float | None = None
        try:
            self._file = _open(self._path)
        except OSError as error:
            raise StoreUnavailable(f"{self._path} cannot be opened: {error.strerror}") from error

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for the lock, and hold it while the block runs."""
        with suppress(OSError):
            if not self._is_mine_at_once():
                _lock(self._file, _IN_QUEUE, fcntl.F_RDLCK)
                fcntl.flock(self._file, fcntl.LOCK_EX)
                _lock(self._file, _IN_QUEUE, fcntl.F_UNLCK)
            self._follow_file()
        try:
            yield
        finally:
            with suppress(OSError):
                fcntl.flock(self._file, fcntl.LOCK_UN)

    def admits_large(self) -> bool:
        """Whether a large write may queue for its turn now; call `rest` when it is over."""
        now = monotonic()
        if self.is_resting:
            self.look()
            return False
        self._waits_since = self._waits_since or now
        if _lock(self._file, _LARGE, fcntl.F_WRLCK) or now - self._waits_since > LONGEST_WAIT:
            self._waits_since = None
            return True
        return False

    def rest(self) -> None:
        """A large write is over: let waiting writers go first."""
        self._rests_until = monotonic() + REST
        self.look()

    @property
    def is_resting(self) -> bool:
        """Whether other writers go first, and `look` has to be called now and then."""
        return self._rests_until is not None

    def look(self) -> None:
        """Admit large writes of others as well, if the queue is empty or it has taken too long."""
        if self._rests_until is not None and (
            monotonic() > self._rests_until or not _is_locked(self._file, _IN_QUEUE)
        ):
            self._rests_until = None
            _lock(self._file, _LARGE, fcntl.F_UNLCK)

    def close(self) -> None:
        """Close the lock file."""
        os.close(self._file)

    def _is_mine_at_once(self) -> bool:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _follow_file(self) -> None:
        """If the lock file was deleted, later processes queue at a new one: go there."""
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


_RECORD = struct.Struct("hhqqi")
"""`struct flock`: kind, whence, start, length, and no process id."""


def _lock(file: int, byte: int, kind: int) -> bool:
    """Lock or unlock a byte for this open file; False if another process has it."""
    try:
        fcntl.fcntl(file, fcntl.F_OFD_SETLK, _RECORD.pack(kind, os.SEEK_SET, byte, 1, 0))
    except BlockingIOError:
        return False
    except OSError:  # this system has no such locks
        return True
    return True


def _is_locked(file: int, byte: int) -> bool:
    """Whether another process has locked a byte."""
    try:
        found = fcntl.fcntl(file, fcntl.F_OFD_GETLK, _RECORD.pack(fcntl.F_WRLCK, os.SEEK_SET, byte, 1, 0))
    except OSError:
        return False
    return bool(_RECORD.unpack(found)[0] != fcntl.F_UNLCK)
