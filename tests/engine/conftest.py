"""A store of each kind with a clock that tests move by hand, as for the storage tests."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tenure.storage.contract import Store
from tests.storage.backends import Backend, PostgresBackend, SqliteBackend, server_for
from tests.storage.clock import Clock


@pytest.fixture(params=["sqlite", "postgres"])
async def backend(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Backend]:
    """An empty, migrated database of each kind, its clock in the test's hands."""
    made: Backend
    if request.param == "sqlite":
        made = SqliteBackend(tmp_path / "tenure.db")
    else:
        made = PostgresBackend(server_for(request))
    await made.prepare()
    yield made
    await made.dispose()


@pytest.fixture
async def store(backend: Backend) -> AsyncIterator[Store]:
    """A store opened on the backend: the hands of whoever works on the jobs."""
    opened = backend.store()
    await opened.open()
    yield opened
    await opened.close()


@pytest.fixture
def clock(backend: Backend) -> Clock:
    """The store's time, which stands still until a test advances it."""
    return backend.clock
