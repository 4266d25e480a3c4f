"""Both clients, and a server that runs in a process of its own, on each kind of store."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tenure.core.model.spec import Spec
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend
from tests.surfaces.http.calls.test_streams_killed import worked  # noqa: F401
from tests.surfaces.http.http_server import Api, register, serving
from tests.surfaces.remote.restartable_server import KINDS, RestartableServer
from tests.surfaces.store_behind import MAIL


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    """Each kind of client."""
    named: str = request.param
    return named


@pytest.fixture
async def server(backend: Backend, store: Store, tmp_path: Path) -> AsyncIterator[RestartableServer]:
    """A server that is not started yet."""
    await register(store, MAIL, Spec(key="bill", priority=5))
    restartable = RestartableServer(backend.address, tmp_path)
    yield restartable
    if restartable.is_open:
        await restartable.kill()


@pytest.fixture
async def api(store: Store) -> AsyncIterator[Api]:
    """A server in the test's own loop."""
    await register(store, MAIL, Spec(key="bill", priority=5))
    async with serving(store) as running:
        yield running
