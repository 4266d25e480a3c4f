"""PostgreSQL alone: a store on it, a foreign transaction, and ways to see who waits for whom."""

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
    """The newest, too: for what PostgreSQL says of itself, which it may say in other words."""
    named: str = request.param
    return named


@pytest.fixture
async def foreign(backend: PostgresBackend) -> AsyncIterator[asyncpg.Connection]:
    """Somebody else's connection to the same database, in a transaction left open."""
    connection = await asyncpg.connect(backend.dsn)
    await connection.execute("BEGIN")
    yield connection
    await connection.close()
