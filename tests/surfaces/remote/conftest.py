"""Both clients, and a server that runs in a process of its own, on each kind of store."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tenure.core.spec import Spec
from tenure.storage.contract import Store
from tests.storage.backends import Backend
from tests.surfaces.http.serving import Api, register, serving
from tests.surfaces.keeping import MAIL
from tests.surfaces.remote.serving import KINDS, Place


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    """Each kind of client."""
    named: str = request.param
    return named


@pytest.fixture
async def place(backend: Backend, store: Store, tmp_path: Path) -> AsyncIterator[Place]:
    """Where a server may run; none does yet."""
    await register(store, MAIL, Spec(key="bill", priority=5))
    made = Place(backend.address, tmp_path)
    yield made
    if made.is_open:
        await made.kill()


@pytest.fixture
async def api(store: Store) -> AsyncIterator[Api]:
    """A server in the test's own loop."""
    await register(store, MAIL, Spec(key="bill", priority=5))
    async with serving(store) as running:
        yield running
