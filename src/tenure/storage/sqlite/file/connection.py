"""Opens the database file, and translates SQLite's errors into ours, here alone.

Only apsw opens the file in our processes. It brings its own recent SQLite; and if Python's own module opened
and closed the same file in the same process, the locks of both would be dropped.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple

import apsw

from tenure.core.errors import (
    DataRefused,
    InvalidInput,
    SchemaMismatch,
    StoreBusy,
    StoreRefused,
    StoreUnavailable,
    TenureError,
)
from tenure.storage.schema.package_files import folder
from tenure.storage.sqlite.file.filesystem import make_private

# Each row of `executemany` pushes one statement out of the cache: the cache must outlast a batch.
_STATEMENTS = 512

Durability = Literal["full", "normal"]
"""Whether every commit is synced to disk before it is answered. With `normal`, a power cut may undo the last
commits, though acknowledged; the database stays intact either way."""

_DAMAGED = "is damaged, restore it from a backup"
_NO_RIGHTS = "make it, its -wal and -shm, and its folder writable for this user"
_NOTHING_WRITTEN = {
    apsw.CantOpenError: "cannot be opened: is its folder there and writable?",
    apsw.ReadOnlyError: f"cannot be written: {_NO_RIGHTS}",
    apsw.FullError: "cannot grow, its disk is full; nothing was written, make room",
    apsw.NotADBError: "is not an SQLite database, or its first page is damaged",
}
_BUSY = (apsw.BusyError, apsw.LockedError)
_REFUSED = (apsw.MismatchError, apsw.TooBigError, apsw.RangeError)


class Opening(NamedTuple):
    """How the file is opened: `patience` bounds, in seconds, how long to wait for other processes."""

    patience: float = 15.0
    durability: Durability = "full"
    vfs: str | None = None

    def check(self) -> None:
        """Raise InvalidInput for an unknown durability."""
        if self.durability not in _SYNCS:
            raise InvalidInput("durability", f"is {self.durability!r:.64}", "give 'full' or 'normal'")


_USUAL = Opening()
_SYNCS = {"full": "PRAGMA synchronous = FULL", "normal": "PRAGMA synchronous = NORMAL"}


def open_writer(path: Path, opening: Opening = _USUAL, *, create: bool = True) -> apsw.Connection:
    """The connection of the one writer: durable at every commit, with its scratch tables."""
    if create:
        make_private(path)
    flags = apsw.SQLITE_OPEN_READWRITE | (apsw.SQLITE_OPEN_CREATE if create else 0)
    connection = apsw.Connection(str(path), flags=flags, vfs=opening.vfs, statementcachesize=_STATEMENTS)
    try:
        _prepare(connection, opening)
    except BaseException:
        close(connection)
        raise
    return connection


def _prepare(connection: apsw.Connection, opening: Opening) -> None:
    if connection.readonly("main"):
        # Before the log is created: it would copy the file's permissions, and keep them after a repair.
        raise StoreUnavailable(f"{connection.filename} cannot be written: {_NO_RIGHTS}")
    connection.set_busy_timeout(_milliseconds(opening.patience))
    _use_write_ahead_log(connection, opening.patience)
    connection.execute(_SYNCS[opening.durability])
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute("PRAGMA cell_size_check = ON")
    for tables in ("given_job", "scratch"):
        connection.execute(scratch(tables))


def scratch(name: str) -> str:
    """The statements that make scratch tables."""
    return folder("tenure.storage.sqlite").joinpath(f"{name}.sql").read_text("utf-8")


def _use_write_ahead_log(connection: apsw.Connection, patience: float) -> None:
    # SQLite does not wait here as it does elsewhere: if several processes open a new file at once, all but
    # one would fail.
    deadline = time.monotonic() + patience
    while True:
        try:
            if connection.execute("PRAGMA journal_mode = WAL").get != "wal":
                raise StoreUnavailable(f"{connection.filename} cannot be put into write-ahead mode")
            return
        except apsw.BusyError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.005)


def open_reader(path: Path, opening: Opening = _USUAL) -> apsw.Connection:
    """A connection that can only read."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY, vfs=opening.vfs)
    connection.set_busy_timeout(_milliseconds(opening.patience))
    connection.execute("PRAGMA cell_size_check = ON")
    return connection


def _milliseconds(seconds: float) -> int:
    return min(int(seconds * 1000), 2**31 - 1)


@contextmanager
def translated(path: Path, *, unknown: bool = False) -> Iterator[None]:
    """Translate what SQLite raises inside into an error of `tenure.core.errors`.

    `unknown` says that after an outage here the write may still have happened.
    """
    try:
        yield
    except TenureError:
        raise
    except _BUSY as error:
        raise StoreBusy(f"{path} is locked by another process; nothing was written, try again") from error
    except apsw.ConstraintError as error:
        raise DataRefused(f"the database refused the statement: {error}") from error
    except _REFUSED as error:
        raise StoreRefused(f"the database refused the statement: {error}") from error
    except apsw.SQLError as error:
        if "no such table" in str(error):
            raise SchemaMismatch(f"{path} has no tenure schema: run `tenure migrate`") from error
        if "unsupported file format" in str(error):
            raise StoreUnavailable(f"{path} {_DAMAGED}: {error}") from error
        raise StoreRefused(f"SQLite refused the statement: {error}") from error
    except apsw.Error as error:
        raise _outage(path, error, unknown=unknown) from error
    except UnicodeDecodeError as error:
        raise StoreUnavailable(f"{path} {_DAMAGED}: it has text that is not UTF-8") from error
    except (ValueError, OverflowError) as error:
        raise StoreRefused(f"a value cannot be given to SQLite: {error}") from error


def _outage(path: Path, error: apsw.Error, *, unknown: bool) -> StoreUnavailable:
    for kind, story in _NOTHING_WRITTEN.items():
        if isinstance(error, kind):
            return StoreUnavailable(f"{path} {story}")
    story = _DAMAGED if isinstance(error, apsw.CorruptError) else "is not available"
    return StoreUnavailable(f"{path} {story}: {error}", unknown=unknown)


@contextmanager
def intact(path: Path) -> Iterator[None]:
    """Report values that make no sense as damage: they were checked when they were written."""
    try:
        yield
    except (ValueError, OverflowError, LookupError) as error:
        raise StoreUnavailable(f"{path} {_DAMAGED}: {error}") from error


def close(connection: apsw.Connection) -> None:
    """Close a connection; a log that is left is taken over by the next process that opens the file."""
    with suppress(apsw.Error):
        connection.close(True)


def fetch(connection: apsw.Connection, text: str, values: dict[str, Any]) -> list[dict[str, Any]]:
    """Run one statement; rows by column name."""
    cursor = connection.execute(text, values)
    first = next(cursor, None)
    if first is None:
        return []
    # Before the last row is fetched: SQLite forgets the names when the statement ends.
    names = [column[0] for column in cursor.getdescription()]
    return [dict(zip(names, row, strict=True)) for row in chain((first,), cursor)]
