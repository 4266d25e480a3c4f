"""More stores: a second one on the same database, one on an empty one, one whose database is not there.

All tests here share one event loop, and connections to PostgreSQL that outlive them.
"""

from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import asyncpg
import pytest
import pytest_asyncio

from tenure.storage.contract.store import Store
from tenure.storage.postgres.store import PostgresStore
from tenure.storage.sqlite.store import SqliteStore
from tests.postgres_server import PostgresServer
from tests.storage.backends import Backend, PostgresBackend, SqliteBackend, server_for
from tests.storage.shared_connections import Kept

HERE = Path(__file__).parent


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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent == HERE and pytest_asyncio.is_async_test(item):
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


shared = pytest_asyncio.fixture(loop_scope="session")
"""A fixture in the event loop of the tests."""


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def kept() -> AsyncIterator[Kept]:
    """The connections that outlive a test."""
    keeping = Kept()
    yield keeping
    keeping.drop()


@shared
async def backend(
    request: pytest.FixtureRequest, database_kind: str, tmp_path: Path, kept: Kept
) -> AsyncIterator[Backend]:
    """An empty, migrated database of each kind, with a clock that the test moves."""
    made: Backend
    if database_kind == "sqlite":
        made = SqliteBackend(tmp_path / "tenure.db")
    else:
        made = kept.backend(server_for(request, database_kind))
    await made.prepare()
    yield made
    await made.dispose()


@shared
async def store(backend: Backend, kept: Kept) -> AsyncIterator[Store]:
    """A store opened on the backend."""
    opened = kept.store(backend)
    await opened.open()
    yield opened
    await opened.close()


@shared
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


@shared
async def bare(empty: Backend) -> AsyncIterator[Store]:
    """A store opened on the empty database."""
    opened = empty.store()
    await opened.open()
    yield opened
    await opened.close()


@shared
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
