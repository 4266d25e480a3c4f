"""Whether the files that SQLite has open are still the ones at their path.

A deleted or replaced file lives on for processes that have it open: they would go on writing into it, and
acknowledge jobs that are lost. The same is true of the write-ahead log beside the database; and without the
file of its shared memory, the locks that keep two writers apart are gone. So all three are compared with what
is at their paths before and after every group of writes, and before every read.
"""

from pathlib import Path
from typing import NamedTuple

from tenure.core.errors import StoreUnavailable

_RESTORE = (
    "stop every process that uses it, put the right file in place without its -wal and -shm, start again"
)


class _Inode(NamedTuple):
    device: int
    number: int


class FileIdentity:
    """The database's files as they were when its writer opened them."""

    def __init__(self, path: Path) -> None:
        self._database = path
        self._log = Path(f"{path}-wal")
        self._memory = Path(f"{path}-shm")
        self._known: dict[Path, _Inode | None] = {}
        self.generation = 0
        """Grows whenever the files are opened anew: a connection of an earlier one is of another file."""

    def remember(self) -> None:
        """Remember the files at their paths as those that were just opened."""
        self._known = {name: _place(name)[0] for name in (self._database, self._log, self._memory)}
        self.generation += 1

    def are_as_known(self) -> bool:
        """Whether a write would go into the files at the paths."""
        place, size = _place(self._database)
        return (
            place == self._known[self._database]
            and size > 0
            and self._is_as_known(self._log)
            and self._is_as_known(self._memory)
        )

    def are_clear(self) -> bool:
        """Whether the database was replaced, and nothing of the old one is left beside the new."""
        place, _ = _place(self._database)
        return (
            place is not None
            and place != self._known[self._database]
            and not (self._is_as_known(self._log) or self._is_as_known(self._memory))
        )

    def is_log_alone_lost(self) -> bool:
        """Whether only the log was removed or replaced."""
        return (
            _place(self._database)[0] == self._known[self._database]
            and self._is_as_known(self._memory)
            and not self._is_as_known(self._log)
        )

    def problem(self, *, unknown: bool = False) -> StoreUnavailable:
        """The error that says what happened to the files, and what to do."""
        return StoreUnavailable(self._story(written=unknown), unknown=unknown)

    def _story(self, *, written: bool) -> str:
        place, size = _place(self._database)
        done = "" if written else "; nothing was written"
        if place is None:
            return f"{self._database} was moved or deleted while in use{done}: put it back"
        if place != self._known[self._database]:
            return (
                f"{self._database} was replaced while in use, and the old one's -wal or -shm is still beside"
                f" it{done}: {_RESTORE}"
            )
        if size == 0:
            return f"{self._database} was emptied while in use{done}: {_RESTORE}"
        lost = self._log if not self._is_as_known(self._log) else self._memory
        return (
            f"{lost} was moved, deleted or replaced while in use{done}: close every store on"
            f" {self._database}, then open it again"
        )

    def _is_as_known(self, name: Path) -> bool:
        return _place(name)[0] == self._known[name]


def _place(name: Path) -> tuple[_Inode | None, int]:
    try:
        found = name.stat()
    except OSError:
        return None, 0
    return _Inode(found.st_dev, found.st_ino), found.st_size
