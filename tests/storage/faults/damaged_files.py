"""Damage to files while a store may use them.

A separate program changes a file that a store may have open: if this process opened and closed it, SQLite's
locks on it would be gone.
"""

import fcntl
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random


def beside(path: Path, ending: str) -> Path:
    """The file that SQLite or the store keeps beside the database: `-wal`, `-shm` or `-turn`."""
    return Path(f"{path}{ending}")


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def make_folder(path: Path) -> Path:
    path.mkdir()
    return path


def link(path: Path, to: Path) -> Path:
    path.symlink_to(to)
    return path


def device_of(path: Path) -> int:
    return path.stat().st_dev


def delete(*paths: Path) -> None:
    for path in paths:
        path.unlink()


def move(path: Path, to: Path) -> None:
    path.rename(to)


def replace(path: Path, content: bytes) -> None:
    """Put another file in its place, as an editor or a restore does."""
    fresh = beside(path, ".fresh")
    fresh.write_bytes(content)
    fresh.rename(path)


def copy(path: Path, to: Path) -> Path:
    subprocess.run(["cp", path, to], check=True)
    return to


def empty(path: Path) -> None:
    """Empty the file, and leave it where it is."""
    subprocess.run(["truncate", "--size=0", path], check=True)


def cut_off(path: Path, part: float) -> None:
    """Leave only the first part of a file."""
    with path.open("r+b") as file:
        file.truncate(int(path.stat().st_size * part))


def flip(path: Path, start: int, end: int, count: int, chance: Random) -> None:
    """Change some bytes within a range of the file to random ones."""
    content = bytearray(path.read_bytes())
    for _ in range(count):
        content[chance.randrange(start, min(end, len(content)))] ^= chance.randint(1, 255)
    path.write_bytes(content)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Have another process lock a whole file while the block runs."""
    with path.open("r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def spoil_pages(path: Path, size: int, count: int, chance: Random) -> None:
    """Overwrite some pages but the first with noise, or with zeros. Many belong to tables without rows."""
    pages = chance.sample(range(1, path.stat().st_size // size), count)
    with path.open("r+b") as file:
        for page in pages:
            file.seek(size * page)
            file.write(chance.choice((bytes(size), chance.randbytes(size))))


def make_pipe(path: Path) -> Path:
    os.mkfifo(path)
    return path
