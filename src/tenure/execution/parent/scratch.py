"""The folders for what attempts write, and the removal of those that are left over.

A worker makes one for each zygote, and holds a lock on it as long as it lives. The guard removes it in the
end; if both were killed at once, it is left over. So the next worker that starts a zygote removes folders
that no process has locked: the kernel releases a lock when its owner dies, however it dies.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Self

from tenure.execution.parent.child_user import ChildUser

PREFIX = "tenure-attempts-"


class Scratch:
    """A folder that is this worker's until it is removed."""

    def __init__(self, path: Path, lock: int, user: ChildUser | None) -> None:
        self.path = path
        self._lock = lock
        self.for_attempts = path
        """Where attempts have their folders: a folder below, if another user is to write there."""
        if user is not None:
            path.chmod(0o711)
            self.for_attempts = path / "attempts"
            self.for_attempts.mkdir(mode=0o700)
            user.own(str(self.for_attempts))

    @classmethod
    def make(cls, place: Path, user: ChildUser | None = None) -> Self:
        """A new one in there, for attempts of this user; raises OSError when there can be none."""
        while True:
            path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=place))
            # Another worker's sweep may have taken it for a leftover before it was locked.
            if (lock := _locked(path)) is not None:
                return cls(path, lock, user)

    def remove_litter(self, folder: str) -> None:
        """Remove what an attempt left, only below this folder: a process of the attempts' user named it."""
        litter = Path(folder)
        if litter.parent == self.for_attempts and litter.name.isdecimal():
            shutil.rmtree(litter, ignore_errors=True)

    def remove(self) -> None:
        """Remove it, if its guard has not, and release the lock."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def place_in(environment: Mapping[str, str]) -> Path:
    """Where folders are made for attempts that are given this environment."""
    return Path(environment.get("TMPDIR") or tempfile.gettempdir())


def sweep(place: Path) -> list[Path]:
    """Remove the folders in there whose owners are gone; returns them."""
    swept = []
    for path in place.glob(f"{PREFIX}*"):
        if (lock := _locked(path)) is not None:
            shutil.rmtree(path, ignore_errors=True)
            os.close(lock)
            swept.append(path)
    return swept


def _locked(path: Path) -> int | None:
    """A descriptor that locks a folder of this user's; None when it is locked, or there is none."""
    with suppress(OSError):
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with suppress(OSError):
            known = os.fstat(folder)
            if known.st_uid == os.geteuid():
                fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # The last owner may have removed the folder, and its name may belong to another one by now.
                if os.path.samestat(known, path.lstat()):
                    return folder
        os.close(folder)
    return None
