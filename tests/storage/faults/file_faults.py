"""A VFS for SQLite in which a test can fail an operation, as a disk does, or act before it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from uuid import uuid4

import apsw

Meddling = Callable[[str, str], None]
"""Called before every operation with its kind (read, write, sync) and the ending of the file (.db, -wal)."""


def io_error(*kinds: str, of: str = "") -> Meddling:
    """A disk that fails these operations, on the files with this ending."""

    def meddle(kind: str, ending: str) -> None:
        if kind in kinds and ending.endswith(of):
            raise apsw.IOError("the disk has failed")

    return meddle


def stand_still_until(answers: Event) -> Meddling:
    """A disk that does not answer until the event is set."""

    def meddle(_kind: str, _ending: str) -> None:
        answers.wait()

    return meddle


class Meddler(apsw.VFS):
    """SQLite's access to its files, with a callback before each operation."""

    def __init__(self) -> None:
        self.name = f"meddler {uuid4()}"
        self.meddling: Meddling | None = None
        super().__init__(self.name, "")

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        return _File(self, name, flags)

    def step_in(self, kind: str, ending: str) -> None:
        """Call what the test has set."""
        if self.meddling is not None:
            self.meddling(kind, ending)


class _File(apsw.VFSFile):
    def __init__(self, meddler: Meddler, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        path = name.filename() if isinstance(name, apsw.URIFilename) else name or ""
        self._meddler = meddler
        self._ending = Path(path).suffix.removeprefix(".db") or ".db"
        super().__init__("", name, flags)

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802
        self._meddler.step_in("read", self._ending)
        return super().xRead(amount, offset)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        self._meddler.step_in("write", self._ending)
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:  # noqa: N802
        self._meddler.step_in("sync", self._ending)
        super().xSync(flags)


@contextmanager
def meddled() -> Iterator[Meddler]:
    """A meddler, registered with SQLite while the block runs."""
    meddler = Meddler()
    yield meddler
    meddler.meddling = None
    meddler.unregister()
