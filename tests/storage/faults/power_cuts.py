"""A disk whose power can be cut: a log of all that SQLite does to its files, and what a cut would leave.

The recorder passes everything on to the real files, except syncs, which it only logs. A cut is then made from
the log, at any moment: what was synced is there, and each sector written since is there or not, at random.
That is what disks do: they write in any order, and a sector as a whole.
"""

from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import NamedTuple

import apsw

SECTORS = (512, 4096)


class FileOperation(NamedTuple):
    """One operation on a file: data written, cut to a size, synced or deleted."""

    name: str
    kind: str
    offset: int = 0
    data: bytes = b""


class Recorder(apsw.VFS):
    """SQLite's access to its files, with a log of all operations in their order."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.operations: list[FileOperation] = []
        super().__init__(name, "")

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        return _RecordedFile(name, flags, self.operations)

    def xDelete(self, name: str, syncdir: bool) -> None:  # noqa: N802
        super().xDelete(name, syncdir)
        self.operations.append(FileOperation(Path(name).name, "delete"))


class _RecordedFile(apsw.VFSFile):
    def __init__(
        self, name: str | apsw.URIFilename | None, flags: list[int], operations: list[FileOperation]
    ) -> None:
        path = name.filename() if isinstance(name, apsw.URIFilename) else name or ""
        self._name = Path(path).name
        self._operations = operations
        super().__init__("", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        super().xWrite(data, offset)
        self._operations.append(FileOperation(self._name, "write", offset, bytes(data)))

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        super().xTruncate(newsize)
        self._operations.append(FileOperation(self._name, "cut", newsize))

    def xSync(self, flags: int) -> None:  # noqa: N802
        self._operations.append(FileOperation(self._name, "sync"))


class _File:
    """One file: what is safe on disk, and the operations since."""

    def __init__(self, content: bytes = b"") -> None:
        self.safe: bytearray | None = bytearray(content) if content else None
        self.since: list[FileOperation] = []

    def take(self, operation: FileOperation) -> None:
        if operation.kind != "sync":
            self.since.append(operation)
            return
        self.safe = _with(self.safe, self.since)
        self.since = []

    def after_a_cut(self, chance: Random, sector: int, odds: float) -> bytes | None:
        survivors = [
            part for operation in self.since for part in _sectors(operation, sector) if chance.random() < odds
        ]
        left = _with(self.safe, survivors)
        return None if left is None else bytes(left)


class Disk:
    """The files of one folder, rebuilt from the log moment by moment."""

    def __init__(self, folder: Path) -> None:
        self._files = {path.name: _File(path.read_bytes()) for path in folder.iterdir()}

    def take(self, operations: Iterable[FileOperation]) -> None:
        """Apply more of the log."""
        for operation in operations:
            self._files.setdefault(operation.name, _File()).take(operation)

    def cut(self, folder: Path, chance: Random) -> None:
        """Put into an empty folder what would be found on this disk if the power failed now."""
        sector = chance.choice(SECTORS)
        odds = chance.choice((0.0, 0.1, 0.5, 0.9, 1.0))
        for name, file in self._files.items():
            left = file.after_a_cut(chance, sector, odds)
            if left is not None:
                (folder / name).write_bytes(left)


def _with(content: bytearray | None, operations: Iterable[FileOperation]) -> bytearray | None:
    """A file after some operations; None if it does not exist."""
    now = None if content is None else bytearray(content)
    for operation in operations:
        if operation.kind == "delete":
            now = None
            continue
        now = bytearray() if now is None else now
        if operation.kind == "cut":
            del now[operation.offset :]
        else:
            now.extend(bytes(max(0, operation.offset - len(now))))
            now[operation.offset : operation.offset + len(operation.data)] = operation.data
    return now


def _sectors(operation: FileOperation, size: int) -> Iterable[FileOperation]:
    """Split a write into the pieces that a disk writes as a whole; other operations stay whole."""
    if operation.kind != "write":
        yield operation
        return
    start, end = operation.offset, operation.offset + len(operation.data)
    while start < end:
        stop = min(end, (start // size + 1) * size)
        yield FileOperation(
            operation.name, "write", start, operation.data[start - operation.offset : stop - operation.offset]
        )
        start = stop
