"""The database file as the writer holds it: open, and known to be the one at the path.

A file that was replaced by another tenure database, with nothing of the old one left beside it, is opened in
its place, and the writer goes on there. In all other cases the writer writes nothing and says what to do:
beside a leftover log only a human knows which of the two files is the right one.
"""

import ctypes
from pathlib import Path

import apsw

from tenure.core.errors import SchemaMismatch, StoreUnavailable
from tenure.storage.sqlite import schema
from tenure.storage.sqlite.clock import StoreClock
from tenure.storage.sqlite.connection import Opening, close, open_reader, open_writer, translated
from tenure.storage.sqlite.filesystem import require_local_file
from tenure.storage.sqlite.whereabouts import Whereabouts


class Holding:
    """The writer's connection, its clock, and where its files are."""

    def __init__(self, path: Path, opening: Opening, whereabouts: Whereabouts) -> None:
        self._path = path
        self._opening = opening
        self._whereabouts = whereabouts
        self._is_sound = True
        require_local_file(path)
        self._open(create=True)

    def find(self) -> None:
        """Make sure that a write would go into the file at the path, by opening that one if need be."""
        if not self._whereabouts.are_as_known():
            self._follow()
        elif not self._is_sound:
            self._open_again()

    def require_in_place(self) -> None:
        """Raise StoreUnavailable unless what was just committed is in the file at the path."""
        if not self._whereabouts.are_as_known():
            raise self._whereabouts.problem(unknown=True)

    def take_back(self) -> None:
        """End the transaction, if one is open, as if it had not been."""
        try:
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
        except apsw.Error:
            # Nothing can be said about this connection any more; the next group gets another one.
            self._is_sound = False

    def close(self) -> None:
        """Close the file."""
        close(self.connection)

    def _open(self, *, create: bool) -> None:
        self.connection = open_writer(self._path, self._opening, create=create)
        self.clock = StoreClock(self.connection)
        self._whereabouts.remember()
        if _has_moved(self.connection):
            raise StoreUnavailable(f"{self._path} was exchanged while it was being opened: try again")

    def _follow(self) -> None:
        """Go over to the file that has taken the place of the one held."""
        if self._whereabouts.is_log_alone_lost():
            # What was acknowledged is in a log that ends with its last user: bring it into the database.
            self.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        if not self._whereabouts.are_clear():
            raise self._whereabouts.problem()
        self._require_ours()
        self._open_again()

    def _require_ours(self) -> None:
        # By a reader: a stranger's file is not to be touched.
        connection = open_reader(self._path, self._opening)
        try:
            with translated(self._path):
                schema.verify(connection)
        except (SchemaMismatch, StoreUnavailable) as error:
            raise StoreUnavailable(
                f"{self._path} was replaced while in use by what is not a current tenure database; nothing"
                f" was written: put the right file in place ({error})"
            ) from error
        finally:
            close(connection)

    def _open_again(self) -> None:
        if self._is_sound:
            # A log by the old name is no longer ours to remove.
            self.connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        self._is_sound = False
        close(self.connection)
        self._open(create=False)
        self._is_sound = True


def _has_moved(connection: apsw.Connection) -> bool:
    answer = ctypes.c_int(0)
    connection.file_control("main", apsw.SQLITE_FCNTL_HAS_MOVED, ctypes.addressof(answer))
    return bool(answer.value)
