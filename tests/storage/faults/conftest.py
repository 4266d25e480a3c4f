"""PostgreSQL through a relay that tests can cut, and a server of their own that they may crash."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest

from tenure.storage.postgres.store import PostgresStore
from tests.storage.backends import PostgresBackend
from tests.storage.faults.own_server import OwnServer
from tests.storage.postgres.conftest import backend, foreign, store
from tests.storage.postgres.relay import Relay
from tests.until import until

__all__ = ["backend", "foreign", "store"]  # fixtures of tests/storage/postgres, for the tests here too

TIMEOUT = 2.0
"""The timeout of the stores under test, in seconds: short, since tests wait for it to pass."""


@pytest.fixture
def database_kind() -> str:
    """PostgreSQL in one version: faults between store and server do not depend on it."""
    return "postgres"


Opener = Callable[..., Awaitable[PostgresStore]]


@pytest.fixture
async def opened() -> AsyncIterator[Opener]:
    """Opens stores with a short timeout, and closes them when the test is over."""
    stores: list[PostgresStore] = []

    async def open_one(dsn: str, **options: Any) -> PostgresStore:
        stores.append(PostgresStore(dsn, **{"timeout": TIMEOUT, "notify": False, **options}))
        await stores[-1].open()
        return stores[-1]

    yield open_one
    for one in stores:
        await one.close()


@pytest.fixture
async def relay(backend: PostgresBackend, opened: Opener) -> AsyncIterator[Relay]:
    """The relay to the server; cut before the stores are closed, so that none of them waits."""
    wire = Relay(backend.dsn)
    await wire.open()
    yield wire
    await wire.cut()


@pytest.fixture
async def far(relay: Relay, opened: Opener) -> PostgresStore:
    """A store that connects through the relay."""
    return await opened(relay.dsn)


@pytest.fixture(scope="session")
def own_server() -> Iterator[OwnServer]:
    """A server that tests may stop, with few connections to give."""
    with OwnServer(settings={"max_connections": 20}) as server:
        yield server


@pytest.fixture
async def own_dsn(own_server: OwnServer) -> str:
    """An empty, migrated database on the server that may be stopped; its clock is the real one."""
    await until(lambda: own_server.is_deserted)
    dsn = own_server.create_database(f"own_{uuid4().hex}")
    await migrate(dsn)
    await until(lambda: own_server.is_deserted)
    return dsn


async def migrate(dsn: str) -> None:
    """Bring a new database up to date."""
    store = PostgresStore(dsn)
    await store.open()
    await store.migrate()
    await store.close()
