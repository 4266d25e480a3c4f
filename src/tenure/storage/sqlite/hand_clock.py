"""A store on a file of its own whose time stands still until it is moved: for tests.

A file is a copy of the first one that this process migrated: to migrate takes most of the time.
"""

from datetime import datetime
from pathlib import Path

from tenure.storage.sqlite.rows import micros
from tenure.storage.sqlite.store import SqliteStore

_CREATE = "CREATE TABLE tenure_test_clock (at INTEGER NOT NULL)"
_START = "INSERT INTO tenure_test_clock VALUES (:at)"
_MOVE = "UPDATE tenure_test_clock SET at = :at"

_first: list[bytes] = []
"""The content of the first file, once there is one."""


class HandClockStore(SqliteStore):
    """An SQLite store whose clock a test moves. Its commits are not synced one by one."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, durability="normal")

    async def move_clock(self, at: datetime) -> None:
        """Make this the time of the store."""
        await self._execute(_MOVE, at=micros(at))

    async def add_clock(self) -> None:
        """Add the table of the clock; it counts for connections that are opened from now on."""
        await self._execute(_CREATE)
        await self._execute(_START, at=0)

    async def _execute(self, statement: str, **named: int) -> None:
        await self._writer.run(lambda connection, _: connection.execute(statement, named).get)


async def open_hand_clock(path: Path, at: datetime) -> HandClockStore:
    """The store of a file, opened; a new file is made if there is none, and its time is `at`."""
    is_new = not _is_there(path)
    if is_new:
        await _make(path)
    store = HandClockStore(path)
    await store.open()
    if is_new:
        await store.move_clock(at)
    return store


async def _make(path: Path) -> None:
    if _first:
        _copy_first(path)
        return
    migrating = HandClockStore(path)
    await migrating.open()
    try:
        await migrating.migrate()
        await migrating.add_clock()
    finally:
        await migrating.close()
    _keep_first(path)


def _is_there(path: Path) -> bool:
    return path.exists()


def _copy_first(path: Path) -> None:
    path.write_bytes(_first[0])


def _keep_first(path: Path) -> None:
    _first.append(path.read_bytes())
