"""A real dump, restored into a server that is new: nothing is hidden, nothing is done twice by an old owner."""

from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from uuid import uuid4

import pytest

from tenure.core.errors import PositionGone, StoreRestored
from tenure.core.model.lease import Claimed, Line
from tenure.core.model.states import State
from tenure.core.reports.reading import Position
from tenure.core.reports.restores import Resumed
from tenure.storage.postgres.store import PostgresStore
from tests.postgres_server import PostgresServer
from tests.postgres_versions import USUAL, binaries_of
from tests.storage.migrated_databases import create_migrated
from tests.storage.postgres.dumps import count_on, dump, restore
from tests.storage.verbs import (
    claim,
    enqueue_one,
    fed,
    found,
    one_in_each_state,
    settle,
    state_of,
    succeeded,
)

LONG = timedelta(hours=1)


@pytest.fixture(scope="module")
def new_server() -> Iterator[PostgresServer]:
    """A server on which nothing has happened yet."""
    with PostgresServer(binaries_of(USUAL)) as server:
        yield server


@pytest.fixture
async def old(postgres_server: PostgresServer) -> AsyncIterator[PostgresStore]:
    """The store that is dumped, on a server that has counted far."""
    dsn = create_migrated(postgres_server, f"old_{uuid4().hex}")
    await count_on(dsn)
    async for store in opened(dsn):
        yield store


@pytest.fixture
async def new(new_server: PostgresServer) -> AsyncIterator[PostgresStore]:
    """An empty database on the new server."""
    async for store in opened(new_server.create_database(f"new_{uuid4().hex}")):
        yield store


async def opened(dsn: str) -> AsyncIterator[PostgresStore]:
    store = PostgresStore(dsn)
    store.dsn = dsn
    await store.open()
    yield store
    await store.close()
