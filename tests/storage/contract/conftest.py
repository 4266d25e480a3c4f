"""More stores: a second one on the same database, one on an empty one, one whose database is not there."""

from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import asyncpg
import pytest

from tenure.storage.contract.store import Store
from tenure.storage.postgres.store import PostgresStore
from tenure.storage.sqlite.store import SqliteStore
from tests.postgres_server import PostgresServer
from tests.storage.backends import Backend, PostgresBackend, SqliteBackend, server_for


class EmptySqlite(SqliteBackend):
    """A file that does not exist yet."""

    async def prepare(self) -> None:
        """Leave it to the test."""


class EmptyPostgres(PostgresBackend):
    """A database that no other test uses, without the schema."""

    def __init__(self, server: PostgresServer) -> None:
        super().__init__(server)
        self._name = f"empty_{uuid4().hex}"
        self.dsn = server.dsn(self._name)

    async def prepare(self) -> None:
        self._server.create_database(self._name)
        self._connection = await asyncpg.connect(self.dsn)


@pytest.fixture
async def empty(request: pytest.FixtureRequest, database_kind: str, tmp_path: Path) -> AsyncIterator[Backend]:
    """An empty database of each kind, for the test alone; its clock is the real one."""
    made: Backend
    if database_kind == "sqlite":
        made = EmptySqlite(tmp_path / "empty.db")
    else:
        made = EmptyPostgres(server_for(request, database_kind))
    await made.prepare()
    yield made
    await made.dispose()


@pytest.fixture
async def bare(empty: Backend) -> AsyncIterator[Store]:
    """A store opened on the empty database."""
    opened = empty.store()
    await opened.open()
    yield opened
    await opened.close()


@pytest.fixture
async def other(backend: Backend) -> AsyncIterator[Store]:
    """A second store on the same database, as another process would have it: nothing is kept of it."""
    opened = backend.store()
    await opened.open()
    yield opened
    await opened.close()


@pytest.fixture
def unreachable(database_kind: str, tmp_path: Path) -> Store:
    """A store of each kind whose database does not exist."""
    if database_kind == "sqlite":
        return SqliteStore(tmp_path / "no such folder" / "tenure.db")
    return PostgresStore("postgresql://tenure@127.0.0.1:1/tenure")
