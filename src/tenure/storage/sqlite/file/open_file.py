"""The database file of the writer: open, and verified to be the one at the path.

If the file was replaced by another tenure database, with nothing of the old one left beside it, the writer
opens the new file and goes on there. In all other cases the writer writes nothing and says what to do:
with a leftover log only a human knows which of the two files is the right one.
"""

import ctypes
from pathlib import Path

import apsw

from tenure.core.errors import SchemaMismatch, StoreUnavailable
from tenure.storage.sqlite import schema
from tenure.storage.sqlite.file.clock import StoreClock
from tenure.storage.sqlite.file.connection import Opening, close, open_reader, open_writer, translated
from tenure.storage.sqlite.file.file_identity import FileIdentity
from tenure.storage.sqlite.file.filesystem import require_local_file


class OpenFile:
    """The writer's connection, its clock, and the identity of its files."""

    def __init__(self, path: Path, opening: Opening, identity: FileIdentity) -> None:
        self._path = path
        self._opening = opening
        self._identity = identity
        self._is_sound = True
        require_local_file(path)
        self._open(create=True)

    def find(self) -> None:
        """Make sure that a write goes into the file at the path; opens that one if needed."""
        if not self._identity.are_as_known():
            self._follow()
        elif not self._is_sound:
            self._open_again()

    def require_in_place(self) -> None:
        """Raise StoreUnavailable unless what was just committed is in the file at the path."""
        if not self._identity.are_as_known():
            raise self._identity.problem(unknown=True)

    def roll_back(self) -> None:
        """Roll back the transaction, if one is open."""
        try:
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
        except apsw.Error:
            # The state of this connection is unknown; the next group gets another one.
            self._is_sound = False

    def close(self) -> None:
        """Close the file."""
        close(self.connection)

    def _open(self, *, create: bool) -> None:
        self.connection = open_writer(self._path, self._opening, create=create)
        self.clock = StoreClock(self.connection)
        self._identity.remember()
        if _has_moved(self.connection):
            raise StoreUnavailable(f"{self._path} was exchanged while it was being opened: try again")

    def _follow(self) -> None:
        """Switch to the file that has replaced the open one."""
        if self._identity.is_log_alone_lost():
            # Acknowledged writes are in a deleted log, which vanishes with its last user: copy them over now.
            self.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        if not self._identity.are_clear():
            raise self._identity.problem()
        self._require_ours()
        self._open_again()

    def _require_ours(self) -> None:
        # With a reader: a foreign file must not be changed.
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
            # The log with the old name is not ours to remove any more.
            self.connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        self._is_sound = False
        close(self.connection)
        self._open(create=False)
        self._is_sound = True


def _has_moved(connection: apsw.Connection) -> bool:
    answer = ctypes.c_int(0)
    connection.file_control("main", apsw.SQLITE_FCNTL_HAS_MOVED, ctypes.addressof(answer))
    return bool(answer.value)
