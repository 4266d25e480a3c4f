"""A disk whose power can be cut: everything SQLite does to its files on record, and what a cut would leave.

The recorder passes all on to the real files, except the syncs, which it only writes down. A cut is then made
from the record, at any moment of it: what was synced is there, and of what was written since, each sector is
there or not as chance will have it. That is what disks do: they write in any order, and a sector as a whole.
"""

from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import NamedTuple

import apsw

SECTORS = (512, 4096)


class Deed(NamedTuple):
    """One thing that was done to a file: data written, cut to a size, synced or deleted."""

    name: str
    kind: str
    offset: int = 0
    data: bytes = b""


class Recorder(apsw.VFS):
    """SQLite's way to its files, with a record of all deeds in the order in which they were done."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.deeds: list[Deed] = []
        super().__init__(name, "")

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        return _RecordedFile(name, flags, self.deeds)

    def xDelete(self, name: str, syncdir: bool) -> None:  # noqa: N802
        super().xDelete(name, syncdir)
        self.deeds.append(Deed(Path(name).name, "delete"))


class _RecordedFile(apsw.VFSFile):
    def __init__(self, name: str | apsw.URIFilename | None, flags: list[int], deeds: list[Deed]) -> None:
        path = name.filename() if isinstance(name, apsw.URIFilename) else name or ""
        self._name = Path(path).name
        self._deeds = deeds
        super().__init__("", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        super().xWrite(data, offset)
        self._deeds.append(Deed(self._name, "write", offset, bytes(data)))

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        super().xTruncate(newsize)
        self._deeds.append(Deed(self._name, "cut", newsize))

    def xSync(self, flags: int) -> None:  # noqa: N802
        self._deeds.append(Deed(self._name, "sync"))


class _File:
    """One file: what of it is safe on disk, and what was done to it since."""

    def __init__(self, content: bytes = b"") -> None:
        self.safe: bytearray | None = bytearray(content) if content else None
        self.since: list[Deed] = []

    def take(self, deed: Deed) -> None:
        if deed.kind != "sync":
            self.since.append(deed)
            return
        self.safe = _with(self.safe, self.since)
        self.since = []

    def after_a_cut(self, chance: Random, sector: int, odds: float) -> bytes | None:
        survivors = [part for deed in self.since for part in _sectors(deed, sector) if chance.random() < odds]
        left = _with(self.safe, survivors)
        return None if left is None else bytes(left)


class Disk:
    """The files of one folder as the record tells of them, moment by moment."""

    def __init__(self, folder: Path) -> None:
        self._files = {path.name: _File(path.read_bytes()) for path in folder.iterdir()}

    def take(self, deeds: Iterable[Deed]) -> None:
        """Let some more of the record happen."""
        for deed in deeds:
            self._files.setdefault(deed.name, _File()).take(deed)

    def cut(self, folder: Path, chance: Random) -> None:
        """Put into an empty folder what would be found on this disk if the power failed now."""
        sector = chance.choice(SECTORS)
        odds = chance.choice((0.0, 0.1, 0.5, 0.9, 1.0))
        for name, file in self._files.items():
            left = file.after_a_cut(chance, sector, odds)
            if left is not None:
                (folder / name).write_bytes(left)


def _with(content: bytearray | None, deeds: Iterable[Deed]) -> bytearray | None:
    """What a file becomes by some deeds; None is a file that is not there."""
    now = None if content is None else bytearray(content)
    for deed in deeds:
        if deed.kind == "delete":
            now = None
            continue
        now = bytearray() if now is None else now
        if deed.kind == "cut":
            del now[deed.offset :]
        else:
            now.extend(bytes(max(0, deed.offset - len(now))))
            now[deed.offset : deed.offset + len(deed.data)] = deed.data
    return now


def _sectors(deed: Deed, size: int) -> Iterable[Deed]:
    """A write in the pieces that a disk writes as a whole; anything else is of one piece."""
    if deed.kind != "write":
        yield deed
        return
    start, end = deed.offset, deed.offset + len(deed.data)
    while start < end:
        stop = min(end, (start // size + 1) * size)
        yield Deed(deed.name, "write", start, deed.data[start - deed.offset : stop - deed.offset])
        start = stop
