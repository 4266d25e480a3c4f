"""A small disk of its own for a server, to be filled up and emptied again."""

import errno
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.postgres_server import open_temporary_place


@contextmanager
def open_folder() -> Iterator[Path]:
    """A temporary folder in which a server may write, whoever it runs as."""
    with tempfile.TemporaryDirectory(prefix="tenure-disk-", dir=open_temporary_place()) as folder:
        Path(folder).chmod(0o777)
        yield Path(folder)


@contextmanager
def small_disk(megabytes: int) -> Iterator[Path]:
    """Mount one that lives in memory, and unmount it in the end."""
    with open_folder() as folder:
        options = ["-t", "tmpfs", "-o", f"size={megabytes}m,mode=1777", "tmpfs", str(folder)]
        mounted = subprocess.run(["mount", *options], capture_output=True, text=True, check=False)
        if mounted.returncode:
            raise RuntimeError(
                "a disk that can be filled up needs the right to mount a tmpfs: run the tests as root, in a "
                f"container with the capability SYS_ADMIN (mount said: {mounted.stderr.strip()})"
            )
        try:
            yield folder
        finally:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)


@contextmanager
def filled(disk: Path) -> Iterator[None]:
    """Leave no room on a disk for a while."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        for size in (1 << 20, 1 << 12):
            try:
                while True:
                    file.write(os.urandom(size))
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
    try:
        yield
    finally:
        ballast.unlink()
