"""PostgreSQL alone: a store on it, a foreign transaction, and ways to see who waits for whom."""

from collections.abc import AsyncIterator

import asyncpg
import pytest

from tests.postgres_server import PostgresServer
from tests.storage.backends import PostgresBackend


@pytest.fixture
async def backend(postgres_server: PostgresServer) -> AsyncIterator[PostgresBackend]:
    """An empty, migrated database, its clock in the test's hands."""
    made = PostgresBackend(postgres_server)
    await made.prepare()
    yield made
    await made.dispose()


@pytest.fixture
async def foreign(backend: PostgresBackend) -> AsyncIterator[asyncpg.Connection]:
    """Somebody else's connection to the same database, in a transaction left open."""
    connection = await asyncpg.connect(backend.dsn)
    await connection.execute("BEGIN")
    yield connection
    await connection.close()
