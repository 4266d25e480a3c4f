"""PostgreSQL alone: a store on it, and a foreign transaction."""

from collections.abc import AsyncIterator

import asyncpg
import pytest

from tests.storage.backends import NEWEST, PostgresBackend


@pytest.fixture
def database_kind() -> str:
    """The suite's own version of PostgreSQL; `make versions` has the others."""
    return "postgres"


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
