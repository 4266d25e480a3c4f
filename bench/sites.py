"""Where the jobs of a worker that is measured are, and what the place says of itself."""

import asyncio
from typing import Any, Protocol

import asyncpg

from bench.postgres import Database
from bench.sqlite_loop import SqliteFile
from tenure.storage.sqlite.file.connection import open_reader


class Site(Protocol):
    """A database that jobs are put into and a worker takes them from."""

    name: str
    address: str

    def settled(self) -> int:
        """How many attempts have succeeded so far, by the store's own record."""

    def tidy(self) -> None:
        """Do now what filling has left for later."""

    def server_cpu(self) -> float | None:
        """CPU seconds of the server so far; None where there is none."""


class PostgresSite:
    """A database on the bench's own server, asked over one connection that stays open."""

    name = "PostgreSQL"

    def __init__(self, database: Database) -> None:
        self.database = database
        self.address = database.dsn
        self._runner = asyncio.Runner()
        self._connection: Any = self._runner.run(asyncpg.connect(database.dsn))

    def settled(self) -> int:
        statement = "SELECT count(*) FROM tenure.attempt WHERE ending = 'succeeded'"
        return int(self._runner.run(self._connection.fetchval(statement)))

    def tidy(self) -> None:
        self.database.tidy()

    def server_cpu(self) -> float | None:
        return self.database.postgres.cpu()

    def close(self) -> None:
        """Hang up; the database goes with its server."""
        self._runner.run(self._connection.close())
        self._runner.close()


class SqliteSite:
    """A file. What the worker does there is in the worker's own CPU."""

    name = "SQLite"

    def __init__(self, file: SqliteFile) -> None:
        self.address = f"sqlite:///{file.path}"
        self._connection = open_reader(file.path)

    def settled(self) -> int:
        statement = "SELECT count(*) FROM tenure_attempt WHERE ending = 'succeeded'"
        return int(self._connection.execute(statement).get)

    def tidy(self) -> None:
        """Nothing is left for later."""

    def server_cpu(self) -> None:
        return None

    def close(self) -> None:
        """Close the file; it goes with the bench's folder."""
        self._connection.close()
