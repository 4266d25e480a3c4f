"""Jobs recorded on a connection of the caller to the SQLite file.

The connection must be apsw's. Two SQLite libraries in one process do not know of each other's locks on a
file, and closing it in one drops those of the other; Python's own module is such another library.
"""

import os
from collections.abc import Callable
from pathlib import Path

import apsw

from tenure.core.errors import InvalidInput
from tenure.core.model.job import Enqueued
from tenure.storage.contract.draft import Connection, no_transaction, unknown_connection
from tenure.storage.sqlite.file.clock import StoreClock, TransactionTime
from tenure.storage.sqlite.file.connection import scratch

Recording = Callable[[apsw.Connection, TransactionTime], list[Enqueued]]
"""Records the jobs in an open transaction."""


class SqliteDraft:
    """New jobs for the file at `path`."""

    def __init__(self, path: Path, recording: Recording) -> None:
        self._path = path
        self._recording = recording

    def record(self, connection: Connection) -> list[Enqueued]:
        if not isinstance(connection, apsw.Connection):
            raise unknown_connection(connection, f"an apsw.Connection to {self._path}")
        if not connection.filename or not _is_same_file(connection.filename, self._path):
            raise InvalidInput(
                "connection", f"is to {connection.filename!r:.200}", f"connect it to {self._path}"
            )
        if not connection.in_transaction:
            raise no_transaction("run BEGIN IMMEDIATE on it first")
        clock = StoreClock(connection)
        turn = clock.read(connection)
        # In a savepoint: if one of our statements fails, the caller's transaction is as it was.
        with connection:
            connection.execute(scratch("given_job"))
            answers = self._recording(connection, turn)
            connection.execute("DROP TABLE temp.given_job")
            clock.keep(connection, turn)
        return answers

    async def record_async(self, connection: Connection) -> list[Enqueued]:
        return self.record(connection)


def _is_same_file(one: str, other: Path) -> bool:
    try:
        return os.path.samefile(one, other)  # noqa: PTH121
    except OSError:
        return False
