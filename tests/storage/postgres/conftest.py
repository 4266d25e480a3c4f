"""PostgreSQL alone: a store on it, a foreign transaction, and ways to see who waits for whom."""

from collections.abc import AsyncIterator

import asyncpg
import pytest

from tests.contract_counts import STORES
from tests.storage.backends import PostgresBackend, server_for


@pytest.fixture(params=[store for store in STORES if store != "sqlite"])
async def backend(request: pytest.FixtureRequest) -> AsyncIterator[PostgresBackend]:
    """An empty, migrated database, its clock in the test's hands."""
    made = PostgresBackend(server_for(request))
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
