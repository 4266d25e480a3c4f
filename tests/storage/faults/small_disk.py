"""A small disk of its own for a server, to be filled up and emptied again."""

import errno
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from tests.postgres_server import open_temporary_place


@contextmanager
def open_folder() -> Iterator[Path]:
    """A temporary folder in which a server may write, as any user."""
    with tempfile.TemporaryDirectory(prefix="tenure-disk-", dir=open_temporary_place()) as folder:
        Path(folder).chmod(0o777)
        yield Path(folder)


@contextmanager
def small_disk(megabytes: int) -> Iterator[Path]:
    """A disk in memory, removed in the end."""
    with open_folder() as folder:
        command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=1777", "tmpfs", str(folder)]
        with _mounted(command, folder) if os.geteuid() == 0 else _mounted_apart(command, folder) as disk:
            yield disk


@contextmanager
def _mounted(command: list[str], folder: Path) -> Iterator[Path]:
    mounted = subprocess.run(command, capture_output=True, text=True, check=False)
    if mounted.returncode:
        _refused(mounted.stderr)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@contextmanager
def _mounted_apart(command: list[str], folder: Path) -> Iterator[Path]:
    """A disk in namespaces of its own, where any user may mount; reached through the process in them."""
    apart = ["unshare", "--user", "--map-root-user", "--mount"]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    keeping = [*apart, "sh", "-c", '"$@" && echo mounted && exec cat', "keeper", *command]
    with subprocess.Popen(keeping, text=True, **pipes) as keeper:
        assert keeper.stdout is not None
        if (output := keeper.stdout.readline()) != "mounted\n":
            _refused(output)
        yield Path(f"/proc/{keeper.pid}/root{folder}")


def _refused(output: str) -> NoReturn:
    raise RuntimeError(
        "a disk that can be filled up needs the right to mount a tmpfs: run the tests as root, in a "
        "container with the capability SYS_ADMIN, or where any user may make namespaces, as is usual "
        f"(mount said: {output.strip()})"
    )


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
