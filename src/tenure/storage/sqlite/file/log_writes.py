"""What the kernel says of writes to a file's log (`-wal`), by inotify: whichever process writes to it.

It is said when a commit is written: before it is synced to disk, and before anybody can read it. Nothing is
said of what other machines write, nor where the kernel has no inotify, where all of a user's watches are
taken, or on some file systems in user space.
"""

import ctypes
import os
import sys
from pathlib import Path

_MODIFY, _ATTRIB, _DELETE_SELF, _MOVE_SELF = 0x2, 0x4, 0x400, 0x800
_EVENTS = _MODIFY | _ATTRIB | _DELETE_SELF | _MOVE_SELF
"""A change of attributes tells of a log that was deleted while some process has it open."""

_AT_ONCE = 65_536


class LogWrites:
    """A watch on the log of one file, once `arm` has found it."""

    def __init__(self, file: Path) -> None:
        self._log = os.fsencode(f"{file.resolve()}-wal")
        self._library = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None
        self._descriptor = self._library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC) if self._library else -1

    def fileno(self) -> int:
        """The descriptor that becomes readable when there is something to take."""
        return self._descriptor

    def arm(self) -> bool:
        """Watch the log that is there now, which may have been made anew; whether that is possible."""
        if self._library is None or self._descriptor < 0:
            return False
        watch: int = self._library.inotify_add_watch(self._descriptor, self._log, _EVENTS)
        return watch >= 0

    def take(self) -> bool:
        """Whether the log was written to, or replaced, since the last call."""
        if self._descriptor < 0:
            return False
        try:
            return bool(os.read(self._descriptor, _AT_ONCE))
        except BlockingIOError:
            return False

    def close(self) -> None:
        """End the watch."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
