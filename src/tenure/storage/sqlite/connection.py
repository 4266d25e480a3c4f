"""Opening the database file, and the one place where SQLite's errors become ours.

Only apsw opens the file in our processes. It brings its own recent SQLite; and were Python's own module to
open and close the same file in the same process, the locks of both would be dropped.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from itertools import chain
from pathlib import Path
from typing import Any

import apsw

from tenure.core.errors import SchemaMismatch, StoreBusy, StoreRefused, StoreUnavailable, TenureError

_BUSY_MS = 10_000
# Each row that `executemany` takes pushes one statement out of the cache: it must outlast a batch.
_STATEMENTS = 512
_BUSY = (apsw.BusyError, apsw.LockedError)
_REFUSED = (apsw.ConstraintError, apsw.MismatchError, apsw.TooBigError, apsw.RangeError)


def open_writer(path: Path) -> apsw.Connection:
    """The connection of the one writer: durable at every commit, with its scratch tables."""
    connection = apsw.Connection(str(path), statementcachesize=_STATEMENTS)
    connection.set_busy_timeout(_BUSY_MS)
    _use_write_ahead_log(connection)
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute(files("tenure.storage.sqlite").joinpath("scratch.sql").read_text("utf-8"))
    return connection


def _use_write_ahead_log(connection: apsw.Connection) -> None:
    # SQLite does not wait here as it does elsewhere: of several that open a new file at once, all but one
    # would fail.
    deadline = time.monotonic() + _BUSY_MS / 1000
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except apsw.BusyError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.005)


def open_reader(path: Path) -> apsw.Connection:
    """A connection that can only read."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    connection.set_busy_timeout(_BUSY_MS)
    return connection


@contextmanager
def translated(path: Path, *, unknown: bool = False) -> Iterator[None]:
    """Whatever SQLite raises inside becomes an error of `tenure.core.errors`.

    `unknown` says that after an outage here the write may have happened all the same.
    """
    try:
        yield
    except TenureError:
        raise
    except _BUSY as error:
        raise StoreBusy(f"{path} is locked by another process; nothing was written, try again") from error
    except _REFUSED as error:
        raise StoreRefused(f"the database refused the statement: {error}") from error
    except apsw.SQLError as error:
        if "no such table" in str(error):
            raise SchemaMismatch(f"{path} has no tenure schema: run `tenure migrate`") from error
        raise StoreRefused(f"SQLite refused the statement: {error}") from error
    except apsw.CantOpenError as error:
        raise StoreUnavailable(f"{path} cannot be opened: is its folder there and writable?") from error
    except apsw.Error as error:
        raise StoreUnavailable(f"{path} is not available: {error}", unknown=unknown) from error
    except (ValueError, OverflowError) as error:
        raise StoreRefused(f"a value cannot be given to SQLite: {error}") from error


def fetch(connection: apsw.Connection, text: str, values: dict[str, Any]) -> list[dict[str, Any]]:
    """Run one statement; rows by column name."""
    cursor = connection.execute(text, values)
    first = next(cursor, None)
    if first is None:
        return []
    # Before the last row is fetched: SQLite forgets the names with the statement's end.
    names = [column[0] for column in cursor.getdescription()]
    return [dict(zip(names, row, strict=True)) for row in chain((first,), cursor)]
