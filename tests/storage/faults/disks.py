"""Disks that fill up, and permissions that are missing even if the tests run as root."""

import ctypes
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from tenure.storage.sqlite.store import SqliteStore

_SIZE = "2m"
_CAPABILITIES_VERSION = 0x20080522
_OVERRIDE_RIGHTS = (1 << 1) | (1 << 2)  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH


class SmallDisk(Protocol):
    """A disk that can be filled to the last byte."""

    async def fill(self, store: SqliteStore) -> None: ...
    async def make_room(self, store: SqliteStore) -> None: ...


class _Mounted:
    """A disk in memory."""

    def __init__(self, folder: Path) -> None:
        self._ballast = folder / "ballast"

    async def fill(self, store: SqliteStore) -> None:
        with self._ballast.open("wb", buffering=0) as file:
            try:
                while file.write(bytes(4096)):
                    pass
            except OSError:
                return

    async def make_room(self, store: SqliteStore) -> None:
        self._ballast.unlink()


class _Capped:
    """A database that may not grow: to SQLite, that is a full disk."""

    async def fill(self, store: SqliteStore) -> None:
        await self._cap(store, 1)

    async def make_room(self, store: SqliteStore) -> None:
        await self._cap(store, 1_000_000)

    async def _cap(self, store: SqliteStore, pages: int) -> None:
        await store._writer.run(lambda connection, _: connection.pragma("max_page_count", pages))


@contextmanager
def small_disk(folder: Path, kind: str) -> Iterator[SmallDisk]:
    """The folder on a small disk; if none can be mounted, its database is kept from growing instead."""
    mount = ["mount", "-t", "tmpfs", "-o", f"size={_SIZE}", "tenure-test", str(folder)]
    if kind == "capped" or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        yield _Capped()
        return
    try:
        yield _Mounted(folder)
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("process", ctypes.c_int))


class _Sets(ctypes.Structure):
    _fields_ = (
        ("effective", ctypes.c_uint32),
        ("permitted", ctypes.c_uint32),
        ("inheritable", ctypes.c_uint32),
    )


@contextmanager
def rights_that_count() -> Iterator[None]:
    """Make file permissions bind even root, for this thread and those it starts."""
    if os.geteuid() != 0:
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header, sets = _Header(_CAPABILITIES_VERSION, 0), (_Sets * 2)()
    assert libc.capget(ctypes.byref(header), sets) == 0
    all_of_them = sets[0].effective
    sets[0].effective &= ~_OVERRIDE_RIGHTS
    assert libc.capset(ctypes.byref(header), sets) == 0
    try:
        yield
    finally:
        sets[0].effective = all_of_them
        assert libc.capset(ctypes.byref(header), sets) == 0


@contextmanager
def mode(path: Path, bits: int) -> Iterator[None]:
    """Set the permissions of a file or folder while the block runs."""
    before = path.stat().st_mode
    path.chmod(bits)
    try:
        yield
    finally:
        path.chmod(before)
