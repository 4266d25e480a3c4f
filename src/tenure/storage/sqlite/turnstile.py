"""Where the writers of several processes queue: locks on a file beside the database.

SQLite's own waiting is a sleep and a try again, without a queue, under which a busy process starves the
others; this makes it fair. Those who write much at once would still keep the others waiting for as many large
writes as there are of them, and leases run out meanwhile. So only one of them at a time stands in the queue,
and none while others stand there who came during a large write.

All of this is an economy only: what keeps the data right is SQLite's own lock, taken inside. So whatever goes
wrong with the file once it is open costs fairness and nothing else; and nobody waits without bound for a
process that is frozen in the queue.
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
"""Seconds for which others are let pass after a large write, at most."""

LONGEST_WAIT = 5.0
"""Seconds after which a large write waits for those of others no longer."""

_IN_QUEUE, _MUCH = 0, 1
"""The bytes of the file whose locks say that somebody waits for a turn, and that somebody writes much."""


class Turnstile:
    """One process's way into the queue."""

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
        """Wait for the turn, and have it for as long as the block runs."""
        with suppress(OSError):
            if not self._is_mine_at_once():
                _lock(self._file, _IN_QUEUE, fcntl.F_RDLCK)
                fcntl.flock(self._file, fcntl.LOCK_EX)
                _lock(self._file, _IN_QUEUE, fcntl.F_UNLCK)
            self._join_the_others()
        try:
            yield
        finally:
            with suppress(OSError):
                fcntl.flock(self._file, fcntl.LOCK_UN)

    def admits_much(self) -> bool:
        """Whether a large write may queue for its turn now; `rest` is to be called when it is over."""
        now = monotonic()
        if self.is_resting:
            self.look()
            return False
        self._waits_since = self._waits_since or now
        if _lock(self._file, _MUCH, fcntl.F_WRLCK) or now - self._waits_since > LONGEST_WAIT:
            self._waits_since = None
            return True
        return False

    def rest(self) -> None:
        """A large write is over: let those pass who wait."""
        self._rests_until = monotonic() + REST
        self.look()

    @property
    def is_resting(self) -> bool:
        """Whether others are let pass, and `look` is to be called now and then."""
        return self._rests_until is not None

    def look(self) -> None:
        """Let others write much as well, if nobody is left in the queue or it has taken too long."""
        if self._rests_until is not None and (
            monotonic() > self._rests_until or not _is_locked(self._file, _IN_QUEUE)
        ):
            self._rests_until = None
            _lock(self._file, _MUCH, fcntl.F_UNLCK)

    def close(self) -> None:
        """Leave the queue."""
        os.close(self._file)

    def _is_mine_at_once(self) -> bool:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

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


_RECORD = struct.Struct("hhqqi")
"""What the system is told of a lock: its kind, from where its place counts, place, length, and nobody."""


def _lock(file: int, byte: int, kind: int) -> bool:
    """Lock a byte for this file as we have it open, or unlock it; false where somebody else has it."""
    try:
        fcntl.fcntl(file, fcntl.F_OFD_SETLK, _RECORD.pack(kind, os.SEEK_SET, byte, 1, 0))
    except BlockingIOError:
        return False
    except OSError:  # there are no such locks here
        return True
    return True


def _is_locked(file: int, byte: int) -> bool:
    """Whether somebody else has locked a byte."""
    try:
        found = fcntl.fcntl(file, fcntl.F_OFD_GETLK, _RECORD.pack(fcntl.F_WRLCK, os.SEEK_SET, byte, 1, 0))
    except OSError:
        return False
    return bool(_RECORD.unpack(found)[0] != fcntl.F_UNLCK)
