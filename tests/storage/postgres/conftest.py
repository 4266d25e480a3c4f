"""PostgreSQL alone: a store on it, with connections that no other test has used; a foreign transaction."""

from collections.abc import AsyncIterator

import asyncpg
import pytest

from tenure.storage.postgres.store import PostgresStore
from tests.storage.backends import NEWEST, PostgresBackend, server_for


@pytest.fixture
def database_kind() -> str:
    """The suite's own version of PostgreSQL; `make versions` has the others."""
    return "postgres"


@pytest.fixture
async def backend(request: pytest.FixtureRequest, database_kind: str) -> AsyncIterator[PostgresBackend]:
    """An empty, migrated database, its clock in the test's hands."""
    made = PostgresBackend(server_for(request, database_kind))
    await made.prepare()
    yield made
    await made.dispose()


@pytest.fixture
async def store(backend: PostgresBackend) -> AsyncIterator[PostgresStore]:
    """A store opened on the backend."""
    opened = backend.store()
    await opened.open()
    yield opened
    await opened.close()


@pytest.fixture(params=["postgres", NEWEST])
def each_version(request: pytest.FixtureRequest) -> str:
    """The newest version, too: for tests of PostgreSQL's own words, which may change."""
    named: str = request.param
    return named


@pytest.fixture
async def foreign(backend: PostgresBackend) -> AsyncIterator[asyncpg.Connection]:
    """A foreign connection to the same database, in an open transaction."""
    connection = await asyncpg.connect(backend.dsn)
    await connection.execute("BEGIN")
    yield connection
    await connection.close()
